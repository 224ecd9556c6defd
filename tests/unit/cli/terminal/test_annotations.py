"""Workflow commands of GitHub Actions: which ones, how they are escaped, and that there are none
elsewhere.
"""

import re
import types
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_documents
from harness.checks import threshold_results, verdicts
from harness.cli.terminal import annotations
from harness.history import plans, results
from harness.history.purposes import Purpose

VALID, UNKNOWN, INVALID = verdicts.Verdict
ONE = "not found in 1 run"
MISSED = "title=control not caught%3A churn%2C a-defect"


def run(verdict: verdicts.Verdict | None, *, control: bool = False) -> results.RunResult:
    return results.RunResult(
        scenario="churn",
        subject="a-defect" if control else "correct",
        purpose=Purpose.CONTROL if control else Purpose.SUBJECT,
        seconds=1.0,
        verdict=verdict,
        double_allocations=int(verdict is INVALID),
        reason="because",
        error="" if verdict else "no engine",
    )


def _document(**parts: Any) -> Any:
    return types.SimpleNamespace(**{"rows": [], "thresholds": []} | parts)


def lines(found: list[results.RunResult], capsys: pytest.CaptureFixture[str]) -> list[str]:
    annotations.of_campaign(_document(rows=results.rows(found)))
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def in_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


@pytest.mark.usefixtures("in_actions")
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([run(VALID), run(INVALID, control=True)], []),
        ([run(INVALID)], ["::error title=INVALID churn%2C correct::INVALID: because"]),
        ([run(UNKNOWN)], ["::warning title=UNKNOWN churn%2C correct::UNKNOWN: because"]),
        ([run(None)], ["::error title=ERROR churn%2C correct::ERROR: no engine"]),
        ([run(VALID, control=True), run(INVALID, control=True)], []),
        (
            [run(VALID, control=True), run(UNKNOWN, control=True)],
            [f"::error {MISSED}::not found in 2 runs; the last one was UNKNOWN: because"],
        ),
        (
            [run(None, control=True)],
            [f"::error title=ERROR churn%2C a-defect::{ONE}; the last one was ERROR: no engine"],
        ),
    ],
)
def test_one_for_each_thing_that_is_wrong(
    found: list[results.RunResult], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(found, capsys) == expected


@pytest.mark.usefixtures("in_actions")
@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (VALID, ""),
        (UNKNOWN, "::warning title=UNKNOWN churn::because\n"),
        (INVALID, "::error title=INVALID churn::because\n"),
    ],
)
def test_a_run(
    verdict: verdicts.Verdict, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    judgement = types.SimpleNamespace(verdict=verdict, scenario="churn", reason="because")
    annotations.of_judgement(judgement)
    assert capsys.readouterr().out == expected


@pytest.mark.usefixtures("in_actions")
def test_a_message_stays_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    annotations.error("a: b, 100%", "first\r\n::error::second 5%")
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "::error title=a%3A b%2C 100%25::first%0D%0A::error::second 5%25"
    assert re.fullmatch(r"::error title=[^,:\n]*::[^\r\n]*", line)


def test_there_are_none_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert lines([run(INVALID)], capsys) == []


@pytest.mark.usefixtures("in_actions")
def test_thresholds_of_a_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    threshold = plans.Threshold(metric="claims", min=5, per="campaign")
    answers = [threshold_results.judged(threshold, value, "none") for value in (5, 4, None)]
    fields = [msgspec.structs.asdict(item) for item in answers]
    thresholds = [
        campaign_documents.ThresholdResult(**known, scenario="churn", subject="correct")
        for known in fields
    ]
    annotations.of_campaign(_document(thresholds=thresholds))
    assert capsys.readouterr().out.splitlines() == [
        "::error title=INVALID churn%2C correct::threshold claims: 4, wanted at least 5",
        "::warning title=UNKNOWN churn%2C correct::threshold claims: none",
    ]
