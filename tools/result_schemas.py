"""Write harness/schemas/ from the types of the documents that commands write as JSON.

Keys may be added to a document of one schema version, so other keys are allowed.
"""

import argparse
import json
import pathlib
from typing import Any

import msgspec

from harness.campaign import campaign_documents
from harness.campaign.sharding import merging, shard_folders, sharded_plans
from harness.checks import verdict_files
from harness.comparison import documents as comparisons
from harness.extensions import descriptions
from harness.report.explanations import documents as explanations
from harness.tables import database

FOLDER = pathlib.Path(__file__).parents[1] / "harness" / "schemas"
TYPES = {
    "verdict": (verdict_files.Judgement, "verdict.json: the verdict about one run"),
    "campaign": (
        campaign_documents.CampaignDocument,
        "results.json of a campaign, and the output of flake-hunt hunt --output json",
    ),
    "plan": (
        sharded_plans.ShardedPlan,
        "plan.json of flake-hunt plan: a campaign over machines",
    ),
    "shard": (shard_folders.ShardRecord, "shard.json of a shard, by flake-hunt hunt --plan"),
    "merge": (merging.MergeDocument, "merge.json of flake-hunt merge"),
    "comparison": (comparisons.Comparison, "the output of flake-hunt compare --output json"),
    "plugins": (descriptions.PluginList, "the output of flake-hunt plugins --output json"),
    "query": (database.QueryResult, "the output of flake-hunt query --output json"),
    "explanation": (explanations.Explanation, "the output of flake-hunt explain --output json"),
}
"""Name of a file -> its type and title."""


def schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema (2020-12)."""
    kind, title = TYPES[name]
    found = msgspec.json.schema(kind)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return head | found


def text(name: str) -> str:
    """Return the content of a file."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every file, and print its path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    for name in TYPES:
        path = FOLDER / f"{name}.json"
        path.write_text(text(name), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
