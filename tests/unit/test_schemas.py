"""The JSON Schemas in harness/schemas are those of the types, and documents obey them."""

import json
import pathlib
from typing import Any

import jsonschema
import msgspec
import pytest

from harness.checks import judging, verdict_files
from harness.history import directories
from tests.histories import archives, building
from tests.support import schemas
from tools import result_schemas

ROOT = pathlib.Path(__file__).parents[2]
GOLDEN = sorted(path.parent for path in (ROOT / "tests" / "golden").glob("*/INVALID*/plan.json"))


@pytest.mark.parametrize("name", result_schemas.TYPES)
def test_the_files_are_written_from_the_types(name: str) -> None:
    written = (result_schemas.FOLDER / f"{name}.json").read_text()
    assert written == result_schemas.text(name), "python tools/result_schemas.py writes them"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_verdicts_with_violations_of_each_check_obey(path: pathlib.Path) -> None:
    judgement = judging.judge(directories.existing(path))
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


def test_the_schema_of_a_type_with_a_new_key_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(msgspec.Struct):
        verdict: str
        more: int

    monkeypatch.setitem(result_schemas.TYPES, "verdict", (Other, "another"))
    assert result_schemas.text("verdict") != (result_schemas.FOLDER / "verdict.json").read_text()
