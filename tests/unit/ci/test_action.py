"""The action for other people's workflows, by its published schema.

The schema is SchemaStore's (Apache-2.0), as check-jsonschema 0.39.0 ships it.
"""

import gzip
import json
import pathlib

import jsonschema
import yaml

from tests.support import called_scripts

ROOT = pathlib.Path(__file__).parents[3]
SCHEMA = pathlib.Path(__file__).with_name("action.schema.json.gz")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def test_the_action_is_one() -> None:
    loaded = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    validator = jsonschema.validators.validator_for(loaded)(loaded)
    assert [error.message for error in validator.iter_errors(ACTION)] == []
    assert not validator.is_valid(ACTION | {"runs": {"using": "composite"}})


def called(tmp_path: pathlib.Path, code: int = 0, **inputs: str) -> tuple[int, list[list[str]]]:
    """The exit code of the action's last step, and the words of each `flake-hunt`."""
    step = ACTION["runs"]["steps"][-1]
    given = {name: item["default"] for name, item in ACTION["inputs"].items()} | inputs
    for name in given:
        assert step["env"][name.upper()] == f"${{{{ inputs.{name} }}}}"
    variables = {name.upper(): value for name, value in given.items()} | {"CODE": str(code)}
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        variables[name] = str(tmp_path / name)
    for side in ("base", "change"):
        campaign = tmp_path / "reports" / side / "campaigns" / "one"
        campaign.mkdir(parents=True)
        (campaign / "junit.xml").write_text("")
        (tmp_path / f"{side}-summary").write_text(f"{side}\n")
    return called_scripts.ran(
        tmp_path, step["run"], GITHUB_RUN_ID="17", LINK="https://h/1", **variables
    )


def test_the_action_tests_the_program_that_was_named(tmp_path: pathlib.Path) -> None:
    program = "python my scheduler.py {kubeconfig}; echo $(id)"
    code, calls = called(tmp_path, program=program, arguments="pod-churn mine.toml --minutes 3")
    assert [words[1] for words in calls] == ["test", "pack"]
    options = called_scripts.parsed(calls[0])
    assert (options["program"], options["words"]) == (program, ["pod-churn", "mine.toml"])
    assert (code, options["minutes"], options["seed"]) == (0, 3, 17)
    assert called_scripts.parsed(calls[1])["directory"] == [
        pathlib.Path("reports/change/campaigns/one")
    ]
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "change\n"
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "artifacts=flake-hunt\n"
    assert (tmp_path / "flake-hunt" / "junit.xml").is_file()


def test_with_a_base_both_are_tested_alike_and_compared(tmp_path: pathlib.Path) -> None:
    (tmp_path / "flake-hunt").mkdir()
    (tmp_path / "flake-hunt" / "comment.md").write_text("comment\n")  # as compare writes it
    code, calls = called(tmp_path, program="new", base="old", code=20)
    assert code == 20, "as the test of the change"
    tests = [called_scripts.parsed(words) for words in calls if words[1] == "test"]
    assert [options["program"] for options in tests] == ["old", "new"]
    assert [options["seed"] for options in tests] == [17, 17]
    assert all(options["is_quick"] for options in tests)
    compared = called_scripts.parsed(calls[-1])
    assert compared["paths"] == [
        pathlib.Path(f"reports/{side}/campaigns/one") for side in ("base", "change")
    ]
    assert (compared["comment"], compared["link"]) == (
        pathlib.Path("flake-hunt/comment.md"),
        "https://h/1",
    )
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "comment\nchange\n"
    assert "comment=flake-hunt/comment.md" in (tmp_path / "GITHUB_OUTPUT").read_text()


def test_a_program_that_cannot_be_tested_ends_the_action(tmp_path: pathlib.Path) -> None:
    code, calls = called(tmp_path, program="new", base="old", code=2)
    assert (code, [words[1] for words in calls]) == (2, ["test"])
