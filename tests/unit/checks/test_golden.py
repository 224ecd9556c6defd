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


def test_the_script_writes_the_same_bytes_and_no_others(tmp_path: pathlib.Path) -> None:
    for case in CASES.values():
        golden.write(case, tmp_path)
    written, there = _content(tmp_path), _content(specimens.GOLDEN)
    other = {name for name in written | there if written.get(name) != there.get(name)}
    assert not other, "run `.venv/bin/python -m tests.histories.golden`"


def _content(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and (path.name not in specimens.NO_EVIDENCE or path.name == "manifest.json")
    }


def test_every_check_has_one_of_each_verdict() -> None:
    """A new check needs three entries in a module of tests/histories/golden_cases."""
    names = [(case.check, case.name.partition("-")[0]) for case in CASES.values()]
    every = [(check.name, one) for check in check_registry.CHECKS for one in verdicts.Verdict]
    assert {*names, *catalogue.IMPOSSIBLE} == {*every}
    assert not {*names} & {*catalogue.IMPOSSIBLE}
