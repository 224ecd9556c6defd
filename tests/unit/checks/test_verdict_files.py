"""verdict.json: which documents are read, and which are the verdict on the evidence beside them."""

import pathlib
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import harness
from harness import errors
from harness.checks import judging, verdict_files, verdicts
from harness.checks.progress import claim_progress
from harness.history import directories, records
from tests.histories import building, damages

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
Document = dict[str, Any]


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    """A run with three violations of one check, and its verdict."""
    made = building.build(tmp_path / "run", "a+D1 b+D1 c+D1")
    verdict_files.write(made, judging.judge(made))
    return made


def _change(directory: directories.RunDirectory, change: Callable[[Document], Any]) -> None:
    document = msgspec.json.decode(directory.verdict.read_bytes())
    change(document)
    directory.verdict.write_bytes(msgspec.json.encode(document))


def _require(directory: directories.RunDirectory) -> None:
    verdict_files.require_own(directory, judging.judge(directory))


def test_violations_are_counted_by_their_check(directory: directories.RunDirectory) -> None:
    judgement = judging.judge(directory)
    counts = [judgement.violations_of(name) for name in ("device_exclusivity", "claim_progress")]
    assert counts == [3, 0]


@pytest.mark.parametrize("schema", [verdicts.SCHEMA_VERSION - 1, verdicts.SCHEMA_VERSION + 1])
def test_other_schemas_are_not_read(directory: directories.RunDirectory, schema: int) -> None:
    assert verdict_files.read(directory)["schema"] == verdicts.SCHEMA_VERSION
    _change(directory, lambda document: document.update(schema=schema))
    with pytest.raises(errors.VerdictError, match=f"expected schema 8, got {schema}"):
        verdict_files.read(directory)


def test_a_folder_is_no_verdict(directory: directories.RunDirectory) -> None:
    directory.verdict.unlink()
    directory.verdict.mkdir()
    with pytest.raises(errors.VerdictError, match="expected a file, got a folder"):
        _require(directory)


def test_no_key_may_be_missing(directory: directories.RunDirectory) -> None:
    _change(directory, lambda document: document.pop("manifest"))
    with pytest.raises(errors.VerdictError, match="it was edited"):
        _require(directory)


def test_other_judges_may_say_the_same(directory: directories.RunDirectory) -> None:
    _change(directory, lambda document: document["judges"].update(digest="sha256:0"))
    _require(directory)


@pytest.mark.parametrize(
    "edit",
    [
        lambda document: document.update(verdict="VALID"),
        lambda document: document["checks"][0].update(violation_count=1),
        lambda document: document["certificate"][0].update(ok=False),
        lambda document: document.update(another="key"),
    ],
    ids=["verdict", "count", "certificate", "key"],
)
def test_an_edited_verdict(
    directory: directories.RunDirectory, edit: Callable[[Document], Any]
) -> None:
    _change(directory, edit)
    with pytest.raises(errors.VerdictError, match="it was edited"):
        _require(directory)


def test_a_verdict_on_another_run(directory: directories.RunDirectory) -> None:
    _change(directory, lambda document: document.update(run_id="another"))
    with pytest.raises(errors.VerdictError, match="got that on 'another'") as caught:
        _require(directory)
    assert f"flake-hunt check {directory.path}" in str(caught.value)


@pytest.mark.parametrize("edit", [{}, {"observations.jsonl": "sha256:0"}], ids=["none", "other"])
def test_the_evidence_has_changed(
    directory: directories.RunDirectory, edit: dict[str, str]
) -> None:
    name = directory.observations.name
    known = verdict_files.read(directory)["evidence"]
    del known[name]
    _change(directory, lambda document: document.update(evidence=known | edit))
    with pytest.raises(errors.VerdictError, match=f"changed since \\({name} differ\\)"):
        _require(directory)


@pytest.mark.parametrize(
    ("was_ended", "name", "verdict", "reason", "is_needed"),
    [
        (True, claim_progress.CHECK.name, UNKNOWN, "the run did not come to rest", False),
        (True, claim_progress.CHECK.name, UNKNOWN, f"{verdict_files.CHECK_FAILED}KeyError()", True),
        (True, claim_progress.CHECK.name, VALID, "every claim got its devices", True),
        (True, "device_exclusivity", UNKNOWN, "nothing was examined", True),
        (False, claim_progress.CHECK.name, UNKNOWN, "the run did not come to rest", True),
    ],
)
def test_only_the_answers_about_rest_are_not_needed(
    directory: directories.RunDirectory,
    was_ended: bool,
    name: str,
    verdict: verdicts.Verdict,
    reason: str,
    is_needed: bool,
) -> None:
    judgement = judging.judge(directory)
    check = msgspec.structs.replace(judgement.checks[0], check=name, verdict=verdict, reason=reason)
    ended = msgspec.structs.replace(judgement, ended_by_violation=was_ended)
    assert ended.is_needed(check) is is_needed


@pytest.mark.parametrize(
    ("given", "worst", "exit_code"),
    [
        ([], UNKNOWN, 20),
        ([VALID], VALID, 0),
        ([VALID, UNKNOWN], UNKNOWN, 20),
        ([UNKNOWN, INVALID, VALID], INVALID, 10),
    ],
)
def test_the_worst_verdict_counts(
    given: list[verdicts.Verdict], worst: verdicts.Verdict, exit_code: int
) -> None:
    assert verdicts.worst(given) is worst
    assert worst.exit_code == exit_code


def test_the_judges_are_the_same_in_whatever_order_their_files_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, listed = verdict_files.present.__wrapped__(), pathlib.Path.rglob
    monkeypatch.setattr(pathlib.Path, "rglob", lambda *given: reversed([*listed(*given)]))
    assert verdict_files.present.__wrapped__() == usual


def test_a_verdict_has_numbers_of_pods_as_keys(tmp_path: pathlib.Path) -> None:
    made = building.build(tmp_path / "run", "a+D1")
    sample = records.MemoryUsed(process="traffic", resident_bytes=9, pods_ran=1000, ts_ns=0)
    damages.before_the_end(sample)(made)
    verdict_files.write(made, judging.judge(made))
    assert verdict_files.read(made)["figures"]["memory"][0]["mib"] == {"1000": 0.0}
    _require(made)


def test_the_judges_are_all_packages_that_the_checks_import() -> None:
    folder = pathlib.Path(harness.__file__).parent
    found, left = set[str](), {"checks"}
    while left:
        package = left.pop()
        found.add(package)
        for path in (folder / package).rglob("*.py"):
            named = re.findall(r"^ *from harness\.(\w+)", path.read_text(), re.MULTILINE)
            left |= {name for name in named if (folder / name).is_dir()} - found
    assert found == set(verdict_files._SOURCES)
