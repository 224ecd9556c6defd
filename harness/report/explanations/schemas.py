"""The JSON Schema of the document, made from its types.

`python -m harness.report.explanations.schemas` writes `explanation.schema.json` again.
"""

import json
import pathlib
from typing import Any

import msgspec

from harness.report.explanations import documents

FILE = pathlib.Path(__file__).with_name("explanation.schema.json")


def text() -> str:
    """Return the schema as it is published."""
    (schema,), parts = msgspec.json.schema_components(
        [documents.Explanation], ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        part["additionalProperties"] = False
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Document of flake-hunt explain --json",
        **schema,
        "$defs": parts,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
