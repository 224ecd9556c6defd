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


def test_the_judges_are_the_source_of_the_checks_and_of_what_reads_the_evidence(
    tmp_path: pathlib.Path,
) -> None:
    folder = pathlib.Path(harness.__file__).parent
    assert verdict_files.present().digest == verdict_files._digest(folder)
    digests = set()
    for name in ("checks", "extensions", "history", "report"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("")
        digests.add(verdict_files._digest(tmp_path))
    assert len(digests) == 3, "the report judges nothing"


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
