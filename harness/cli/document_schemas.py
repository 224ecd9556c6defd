"""JSON Schemas of the files that people write, and of the documents that commands write.

Keys may be added to a document of one schema version, so other keys are allowed.
"""

import json

import msgspec

from harness.campaign import campaign_documents
from harness.campaign.sharding import merging, sharded_plans
from harness.checks import verdict_files
from harness.comparison import documents as comparisons
from harness.extensions import descriptions
from harness.report.explanations import documents as explanations
from harness.scenario import schemas
from harness.tables import database

TYPES = {
    "verdict": (verdict_files.Judgement, "verdict.json: the verdict about one run"),
    "campaign": (
        campaign_documents.CampaignDocument,
        "results.json of a campaign, and the output of flake-hunt hunt --output json",
    ),
    "plan": (
        sharded_plans.ShardedPlan,
        "plan.json of flake-hunt shards plan: a campaign over machines",
    ),
    "merge": (merging.MergeDocument, "merge.json of flake-hunt shards merge"),
    "comparison": (comparisons.Comparison, "the output of flake-hunt compare --output json"),
    "plugins": (descriptions.PluginList, "the output of flake-hunt doctor --plugins --output json"),
    "query": (database.QueryResult, "the output of flake-hunt query --output json"),
    "explanation": (explanations.Explanation, "the output of flake-hunt explain --output json"),
}


def text(name: str) -> str:
    if name in schemas.SHELVES:
        return schemas.text(name)
    kind, title = TYPES[name]
    document = {"$schema": schemas.DIALECT, "title": title, **msgspec.json.schema(kind)}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
