"""The exit code, the verdict and the sentence of a campaign, and the counts of its rows."""

import re
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_documents, sentences
from harness.history import results
from tests.support import cases

KUBE = "kube-scheduler 1.36.3"
WORD = re.compile(r"(?:(\d+)\*)?([SCHRA])([+?!xum])([\w#]*(?![\w=]))?:?(.*)")
PURPOSES = dict(zip("SCHRA", ("subject", "control", "hazard", "remedy", "asked"), strict=True))
OUTCOMES: dict[str, dict[str, Any]] = {
    "+": {"verdict": "VALID"},
    "?": {"verdict": "UNKNOWN", "reason": "a gap"},
    "!": {"verdict": "INVALID"},
    "x": {"error": "it could not be made"},
    "u": {"error": "no such program", "is_usage_error": True},
    "m": {"verdict": "UNKNOWN", "missing": True, "reason": "shard 2 of 3 is missing"},
}


def runs(text: str) -> list[results.RunResult]:
    return [result for word in text.split() for result in _runs(word)]


def _runs(word: str) -> list[results.RunResult]:
    found = WORD.fullmatch(word)
    assert found, word
    count, letter, outcome, name, text = found.groups()
    purpose = PURPOSES[letter]
    said: dict[str, Any] = {"scenario": "pod-churn", "subject": "correct", "purpose": purpose}
    if purpose == "control":
        said["subject"] = name or "a-defect"
    elif name == "blind":
        said["unexamined"] = ["device_exclusivity"]
    elif name:
        said |= {"hypothesis": name, "scenario": f"of-{name}"}
    counts = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}
    if outcome == "!" and not counts.keys() & {
        "double_allocations",
        "stuck",
        "others",
        "consumed_twice",
    }:
        counts["double_allocations"] = 1
    return [msgspec.convert(said | OUTCOMES[outcome] | counts, results.RunResult)] * int(count or 1)


def table(text: str) -> list[results.Row]:
    return results.rows(runs(text))


@pytest.mark.parametrize(("text", "code"), cases.read(__file__, "codes"))
def test_the_exit_code(text: str, code: int) -> None:
    found = table(text)
    assert campaign_documents.exit_code(found, planned=len(runs(text))) == code
    if code in (0, 10):
        assert campaign_documents.verdict(found).exit_code == code


@pytest.mark.parametrize(("text", "code"), cases.read(__file__, "of_two"))
def test_a_run_that_is_missing_is_an_error(text: str, code: int) -> None:
    assert campaign_documents.exit_code(table(text), planned=2) == code


@pytest.mark.parametrize(("text", "parts"), cases.read(__file__, "sentences"))
def test_the_sentence(text: str, parts: list[str]) -> None:
    said = sentences.of_table(table(text), KUBE)
    for part in parts:
        assert part in f"{said}."


def test_the_sentence_of_a_hunt_names_its_subject_if_there_is_one() -> None:
    named = [sentences.of_table(table(text)).partition(":")[0] for text in ("S+", "", "C!")]
    assert named == ["the correct subject", "no subject", "1 of 1 controls caught"]


@pytest.mark.parametrize("purpose", "SCHRA")
@pytest.mark.parametrize("outcome", ["+", "+blind", "?"])
def test_no_sentence_counts_more_runs_than_examined_exclusivity(purpose: str, outcome: str) -> None:
    text = sentences.of_table(table(f"{purpose}{outcome} S+blind"), KUBE)
    assert ("no double allocation in 1 run " in text) is (purpose + outcome == "S+")


def test_rows_put_the_correct_subject_first_and_count() -> None:
    correct, control = table("C!double_allocations=2 S+ C+")
    assert (correct.subject, len(correct.runs)) == ("correct", 1)
    assert (control.caught, len(control.runs), control.double_allocations) == (1, 2, 2)
    assert control.is_as_expected


@pytest.mark.parametrize(("text", "row"), cases.read(__file__, "rows"))
def test_a_row(text: str, row: list[Any]) -> None:
    [found] = table(text)
    caught = found.caught if found.purpose.must_fail else 0
    assert [caught, found.stuck, found.double_allocations, found.is_as_expected] == row


@pytest.mark.parametrize("text", ["S+ Sm", "S! Sm", "S+ C! Cm"])
def test_a_row_with_a_missing_run_is_not_as_expected(text: str) -> None:
    """Also that of a control that another run has caught: it is not known what this one shows."""
    assert [row.is_as_expected for row in table(text) if row.missing] == [False]


@pytest.mark.parametrize(
    ("counts", "is_found"),
    [("others=1", True), ("stuck=1", True), ("double_allocations=1", False), ("others=0", False)],
)
def test_a_defect_that_shows_otherwise_is_found_by_other_checks(
    counts: str, is_found: bool
) -> None:
    [control] = runs(f"C!{counts}")
    otherwise = msgspec.structs.replace(control, shows_otherwise=True)
    assert otherwise.is_found is is_found
    assert control.is_found is (counts == "double_allocations=1")


def test_results_have_the_order_of_the_plan() -> None:
    [one] = runs("S+")
    found = [
        msgspec.structs.replace(one, number=number, attempt=attempt)
        for number, attempt in [(2, 1), (1, 0), (3, 0), (2, 0)]
    ]
    ordered = [(result.number, result.attempt) for result in results.in_plan_order(found)]
    assert ordered == [(1, 0), (2, 0), (2, 1), (3, 0)]
