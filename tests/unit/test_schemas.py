"""Documents obey the JSON Schemas that are made from their types."""

import json
import pathlib
from typing import Any

import jsonschema
import pytest

from harness.checks import judging, verdict_files
from harness.history import directories
from tests.histories import archives, building
from tests.support import golden_runs, schemas

ROOT = pathlib.Path(__file__).parents[2]


def test_verdicts_with_violations_of_each_check_obey() -> None:
    for path in golden_runs.FOLDER.glob("*/INVALID*/plan.json"):
        judgement = judging.judge(directories.existing(path.parent))
        schemas.obeying("verdict", verdict_files.encode(judgement))


@pytest.mark.parametrize("verdict", archives.TEXTS)
def test_written_verdicts_obey(tmp_path: pathlib.Path, verdict: str) -> None:
    made = archives.run(tmp_path, "one", verdict)
    schemas.obeying("verdict", made.verdict.read_bytes())


def test_a_run_with_a_manifest_names_its_digest_and_its_judges(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one")
    document = json.loads(made.verdict.read_bytes())
    assert document["manifest"] == document["evidence"]["manifest.json"]
    assert document["manifest"].startswith("sha256:")
    assert document["judges"]["digest"].startswith("sha256:")
    without = building.build(tmp_path / "without", archives.TEXTS["VALID"])
    assert judging.judge(without).manifest == ""


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "FINE"},
        {"schema": "6"},
        {"figures": {}},
        {"checks": [{"check": "x"}]},
        {"evidence": {"plan.json": 5}},
        {"judges": None},
    ],
    ids=str,
)
def test_other_documents_do_not_obey(tmp_path: pathlib.Path, change: dict[str, Any]) -> None:
    document = json.loads(archives.run(tmp_path, "one").verdict.read_bytes())
    with pytest.raises(jsonschema.ValidationError):
        schemas.obeying("verdict", document | change)
