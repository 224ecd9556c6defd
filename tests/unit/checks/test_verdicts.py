"""Verdicts, their exit codes, and the digest of the judges."""

import pathlib
import re

import pytest

import harness
from harness.checks import verdict_files, verdicts

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


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
