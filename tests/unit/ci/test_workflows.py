"""The CI of users and of this repository: by its published schema, safe, and consistent.

The schema is SchemaStore's github-workflow.json (Apache-2.0), as check-jsonschema 0.39.0 ships it.
"""

import gzip
import json
import pathlib
import re

import jsonschema
import pytest
import yaml

from harness.comparison import comparison_texts

ROOT = pathlib.Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXAMPLES = sorted(set((ROOT / "examples").glob("*.yml")) - {ROOT / "examples" / "gitlab-ci.yml"})
COMMENT = ROOT / "examples" / "comment.yml"
SCHEMA = pathlib.Path(__file__).with_name("workflow.schema.json.gz")
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def steps(path: pathlib.Path) -> list[dict]:
    document = yaml.safe_load(path.read_text())
    return [step for job in document["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", [*WORKFLOWS, *EXAMPLES], ids=lambda path: path.name)
def test_the_schema_of_workflows(path: pathlib.Path) -> None:
    validator = jsonschema.Draft7Validator(json.loads(gzip.decompress(SCHEMA.read_bytes())))
    typed = yaml.safe_load(path.read_text())
    typed["on"] = typed.pop(True)  # YAML 1.1 reads `on` so
    validator.validate(typed)
    typed["jobs"][next(iter(typed["jobs"]))]["timeout-minutes"] = "soon"
    assert not validator.is_valid(typed), "a schema that takes everything proves nothing"


def test_only_the_workflow_that_runs_nothing_of_the_pull_request_may_write() -> None:
    document = yaml.safe_load(COMMENT.read_text())
    (job,) = document["jobs"].values()
    assert list(document[True]) == ["workflow_run"]
    assert document["permissions"] == {}
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step] == [
        "actions/download-artifact"
    ]
    for path in [*WORKFLOWS, *EXAMPLES]:
        if path != COMMENT:
            assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}


def test_the_comment_is_found_by_names_that_agree() -> None:
    comment, caller, campaign = (
        yaml.safe_load((ROOT / "examples" / f"{name}.yml").read_text())
        for name in ("comment", "flake-hunt", "campaign")
    )
    assert comment[True]["workflow_run"]["workflows"] == [caller["name"]]
    called = caller["jobs"]["pull-request"]
    assert called["uses"] == "./.github/workflows/campaign.yml"
    assert called["with"].keys() <= campaign[True]["workflow_call"]["inputs"].keys()
    (found,) = [step for step in steps(COMMENT) if "download-artifact" in step.get("uses", "")]
    uploaded = [step.get("with", {}).get("name") for step in campaign["jobs"]["merge"]["steps"]]
    assert found["with"]["name"] in uploaded
    assert comparison_texts.MARK in COMMENT.read_text()


@pytest.mark.parametrize("path", [*WORKFLOWS, *EXAMPLES], ids=lambda path: path.name)
def test_no_expression_is_text_of_a_script(path: pathlib.Path) -> None:
    assert [step for step in steps(path) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", [*WORKFLOWS, *EXAMPLES], ids=lambda path: path.name)
def test_every_action_is_pinned_by_commit_and_names_its_version(path: pathlib.Path) -> None:
    text = re.sub(r"^ *#.*$", "", path.read_text(), flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if "uses:" in line]
    lines = [line for line in lines if "uses: ./" not in line]
    assert len(lines) == sum("uses" in step for step in steps(path))
    assert [line for line in lines if not PINNED.search(line)] == []
