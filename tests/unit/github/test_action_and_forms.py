"""The action for other people's workflows, and the forms of issues, by their published schemas.

The schemas are SchemaStore's (Apache-2.0), as check-jsonschema 0.39.0 ships them.
"""

import gzip
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest
import typer.main
import yaml

from harness.cli import commands

ROOT = pathlib.Path(__file__).parents[3]
HERE = pathlib.Path(__file__).parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PRINTS_ARGUMENTS = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"


def problems(schema: str, document: object) -> list[str]:
    loaded = json.loads(gzip.decompress((HERE / f"{schema}.schema.json.gz").read_bytes()))
    kind = jsonschema.validators.validator_for(loaded)
    return [error.message for error in kind(loaded).iter_errors(document)]


def test_the_action_is_one() -> None:
    assert problems("action", ACTION) == []
    assert problems("action", ACTION | {"runs": {"using": "composite"}})


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_the_forms_are_forms(path: pathlib.Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert problems("issue-forms", form) == []
    assert problems("issue-forms", form | {"body": [{"type": "essay"}]})


def hunt_arguments(tmp_path: pathlib.Path, **inputs: str) -> list[str]:
    """The arguments that the action's last step gives to `flake-hunt`."""
    program = tmp_path / "flake-hunt"
    program.write_text(PRINTS_ARGUMENTS)
    program.chmod(0o755)
    given = {name: item["default"] for name, item in ACTION["inputs"].items()} | inputs
    step = ACTION["runs"]["steps"][-1]
    assert step["env"] == {name.upper(): f"${{{{ inputs.{name} }}}}" for name in given}
    environment = {name.upper(): value for name, value in given.items()}
    environment |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": "summary.md"}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_action_hunts_with_the_scheduler_that_was_named(tmp_path: pathlib.Path) -> None:
    subject = "command=python my scheduler.py {kubeconfig}; echo $(id)"
    words = hunt_arguments(
        tmp_path, scenarios="pod-churn mine.toml", subject=subject, arguments="--jobs 2"
    )
    assert words[:3] == ["hunt", "pod-churn", "mine.toml"]
    command = typer.main.get_command(commands.make_app(["hunt"]))
    hunt = command.commands["hunt"]  # type: ignore[attr-defined]
    context = hunt.make_context("hunt", words[1:], resilient_parsing=True)
    assert context.params["subject"] == [subject]
    assert (context.params["repeat"], context.params["jobs"]) == (3, 2)


def test_the_action_works_with_its_defaults(tmp_path: pathlib.Path) -> None:
    words = hunt_arguments(tmp_path)
    assert words[1:4] == ["pod-churn", "shared-claims", "uses-all-resources"]
    assert words[-1] == "summary.md"
