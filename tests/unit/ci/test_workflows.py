"""The users' CI: by its published schema, and a few calls of make targets that exist.

The schema is SchemaStore's github-workflow.json (Apache-2.0), as check-jsonschema 0.39.0 ships it.
"""

import gzip
import json
import pathlib
import re

import jsonschema
import pytest
import yaml

from harness.comparison import comments
from harness.scenario import profiles

ROOT = pathlib.Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NIGHTS = ROOT / "examples" / "flake-hunt.yml"
EXAMPLES = sorted(set((ROOT / "examples").glob("*.yml")) - {ROOT / "examples" / "gitlab-ci.yml"})
COMMENT = ROOT / "examples" / "comment.yml"
SCHEMA = pathlib.Path(__file__).with_name("workflow.schema.json.gz")
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
MAKE_CALLS_MAX = 5
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def steps(path: pathlib.Path) -> list[dict]:
    document = yaml.safe_load(path.read_text())
    return [step for job in document["jobs"].values() for step in job.get("steps", [])]


def test_the_figures_of_every_night_are_kept_also_of_red_ones() -> None:
    for path in (WORKFLOWS[1], NIGHTS):
        cached = [step for step in steps(path) if "actions/cache/" in step.get("uses", "")]
        restore, save = sorted(cached, key=lambda step: "save" in step["uses"])
        for step in (restore, save):
            assert "reports/campaigns/*/campaign.json" in step["with"]["path"].split()
            assert "github.run_id" in step["with"]["key"], "a cache is never written again"
        assert restore["with"]["key"].startswith(restore["with"]["restore-keys"])
        assert save["if"].startswith("always()")


@pytest.mark.parametrize("path", [*WORKFLOWS, *EXAMPLES], ids=lambda path: path.name)
def test_the_schema_of_workflows(path: pathlib.Path) -> None:
    validator = jsonschema.Draft7Validator(json.loads(gzip.decompress(SCHEMA.read_bytes())))
    typed = yaml.safe_load(path.read_text())
    typed["on"] = typed.pop(True)  # YAML 1.1 reads `on` so
    validator.validate(typed)
    typed["jobs"][next(iter(typed["jobs"]))]["timeout-minutes"] = "soon"
    assert not validator.is_valid(typed), "a schema that takes everything proves nothing"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_is_run_is_a_target_of_the_makefile(path: pathlib.Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert 1 <= len(commands) <= MAKE_CALLS_MAX
    for command in commands:
        program, target, *_ = command.split()
        assert program == "make"
        assert target in TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_evidence_is_kept_whatever_happens(path: pathlib.Path) -> None:
    keeping = [step for step in steps(path) if "upload-artifact" in step.get("uses", "")]
    (step,) = keeping
    assert step["if"] == "always()"
    assert "reports" in step["with"]["path"].splitlines()


@pytest.mark.parametrize("path", [*WORKFLOWS, *EXAMPLES], ids=lambda path: path.name)
def test_no_run_is_kept_twice(path: pathlib.Path) -> None:
    """`latest` is a link to a run that is uploaded anyway."""
    keeping = [step for step in steps(path) if "upload-artifact" in step.get("uses", "")]
    for paths in (step["with"]["path"].splitlines() for step in keeping):
        if "reports" in (name.strip("/") for name in paths):
            assert any(re.fullmatch(r"!reports/(\*/)?latest", name) for name in paths)


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
    assert comments.MARK in COMMENT.read_text()


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


def test_one_action_has_one_commit_everywhere() -> None:
    text = "".join(path.read_text() for path in [*WORKFLOWS, *EXAMPLES])
    pins = {(action, pin) for action, pin in re.findall(r"uses: ([\w-]+/[\w-]+)\S*@(.*)", text)}
    assert len(pins) == len({action for action, _ in pins})


def test_the_matrices_are_what_there_is() -> None:
    ci, nightly = (yaml.safe_load(path.read_text())["jobs"] for path in WORKFLOWS)
    versions = ci["test"]["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert ci["wheel"]["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    shipped = [name for name in profiles.SHELF.names() if name.startswith("kind-")]
    assert nightly["hunt"]["strategy"]["matrix"]["cluster"] == shipped
    installed = next(
        step for step in nightly["hunt"]["steps"] if "kind-action" in step.get("uses", "")
    )
    wanted = {
        profile.kind_min
        for profile in map(profiles.load, shipped)
        if isinstance(profile, profiles.KindProfile)
    }
    assert wanted == {installed["with"]["version"].removeprefix("v")}
