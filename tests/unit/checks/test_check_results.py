"""Which violations a result tells in full, and what verdicts and their judges are."""

import pathlib
import re

import pytest

import harness
from harness.checks import check_results, protocol, verdict_files, verdicts

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


@pytest.mark.parametrize(
    ("count", "worst", "positions"),
    [
        (0, 0, []),
        (1, 0, [0]),
        (4, 2, [0, 1, 2, 3]),
        (20, 19, list(range(20))),
        (21, 3, list(range(21))),
        (40, 30, [*range(20), 30, 39]),
        (40, 39, [*range(20), 39]),
    ],
)
def test_the_first_the_worst_and_the_last_one_are_in_full(
    count: int, worst: int, positions: list[int]
) -> None:
    assert check_results.in_full(count, worst) == positions


def test_the_first_ones_are_in_full_and_the_next_ones_by_their_summaries() -> None:
    def violation(number: int) -> verdicts.Violation:
        return verdicts.Violation(
            guarantee="g", summary=str(number), text="", resource_versions=[], objects=[]
        )

    check = protocol.Check(
        name="g", guarantee="R", promise="", judge=lambda evidence: check.unknown("it only looks")
    )
    result = check_results.of_found(
        check,
        range(300),
        verdict=INVALID,
        examined_count=1,
        violation=violation,
        summary=str,
        reason="",
    )
    assert result.violation_count == 300
    assert [item.summary for item in result.violations] == [str(number) for number in range(20)]
    assert list(result.others) == [str(number) for number in range(20, 220)]


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
