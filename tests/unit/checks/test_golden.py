"""Golden run directories have the verdicts that their names say, and every check has its own."""

import pathlib

import pytest

from harness.checks import check_registry, judging, verdicts
from harness.history import directories
from tests.histories import golden, specimens
from tests.histories.golden_cases import catalogue

CASES = {f"{case.check}/{case.name}": case for case in catalogue.CASES}
PLAIN = {"device_exclusivity/UNKNOWN-gap"}
"""Directories that are UNKNOWN although the check itself found nothing against VALID."""


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_the_name(name: str) -> None:
    directory = directories.existing(specimens.GOLDEN / name)
    judgement = judging.judge(directory)
    expected = verdicts.Verdict(CASES[name].name.partition("-")[0])
    assert judgement.verdict is expected, judgement.reason
    [result] = [item for item in judgement.checks if item.check == CASES[name].check]
    assert name in PLAIN or result.verdict is expected, result.reason
    changed = [item for item in judgement.certificate if item.name == "manifest"]
    assert [item.ok for item in changed] == [True]


@pytest.mark.parametrize("name", CASES)
def test_the_script_writes_the_same_bytes(name: str, tmp_path: pathlib.Path) -> None:
    golden.write(CASES[name], tmp_path)
    assert _content(tmp_path / name) == _content(specimens.GOLDEN / name), (
        "run `.venv/bin/python -m tests.histories.golden`"
    )


def _content(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and (path.name not in specimens.NO_EVIDENCE or path.name == "manifest.json")
    }


def test_there_are_no_others() -> None:
    found = {
        path.parent.relative_to(specimens.GOLDEN).as_posix()
        for path in specimens.GOLDEN.glob("*/*/plan.json")
    }
    assert found == set(CASES)


@pytest.mark.parametrize("check", [check.name for check in check_registry.CHECKS])
def test_every_check_has_one_of_each_verdict(check: str) -> None:
    """A new check needs three entries in a module of tests/histories/golden_cases."""
    names = [case.name.partition("-")[0] for case in CASES.values() if case.check == check]
    impossible = [verdict for name, verdict in catalogue.IMPOSSIBLE if name == check]
    assert set(names) | set(impossible) == set(verdicts.Verdict)
    assert not set(names) & set(impossible)
