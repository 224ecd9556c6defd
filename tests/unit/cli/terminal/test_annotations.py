"""Workflow commands of GitHub Actions: which ones, how they are escaped, and that there are none
elsewhere.
"""

import re
import types
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_documents
from harness.checks import threshold_results
from harness.cli.terminal import annotations
from harness.history import plans, results
from tests.support import cases


@pytest.fixture(autouse=True)
def in_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def result(verdict: str | None, purpose: str) -> results.RunResult:
    fields = {"scenario": "churn", "subject": "a", "purpose": purpose, "seconds": 1.0}
    fields |= {"verdict": verdict, "double_allocations": int(verdict == "INVALID")}
    fields |= {"reason": "because", "error": "" if verdict else "no engine"}
    return msgspec.convert(fields, results.RunResult)


def _document(**parts: Any) -> Any:
    return types.SimpleNamespace(**{"rows": [], "thresholds": []} | parts)


@pytest.mark.parametrize(("runs", "expected"), cases.read(__file__, "campaigns"))
def test_one_for_each_thing_that_is_wrong(
    runs: list[list[Any]],
    expected: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = _document(rows=results.rows([result(*run) for run in runs]))
    annotations.of_campaign(document)
    assert capsys.readouterr().out.splitlines() == expected
    monkeypatch.delenv("GITHUB_ACTIONS")
    annotations.of_campaign(document)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("verdict", "expected"), cases.read(__file__, "runs"))
def test_a_run(verdict: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    run: Any = result(verdict, "subject")
    annotations.of_judgement(run)
    assert capsys.readouterr().out == expected


def test_a_message_stays_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    annotations.error("a: b, 100%", "first\r\n::error::second \x1b[31m5%")
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "::error title=a%3A b%2C 100%25::first%0D%0A::error::second \\x1b[31m5%25"
    assert re.fullmatch(r"::error title=[^,:\n]*::[^\r\n]*", line)


def test_thresholds_of_a_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    threshold = plans.Threshold(metric="claims", min=5, per="campaign")
    answers = [threshold_results.judged(threshold, value, "none") for value in (5, 4, None)]
    thresholds = [
        campaign_documents.ThresholdResult(
            **msgspec.structs.asdict(item), scenario="churn", subject="a"
        )
        for item in answers
    ]
    annotations.of_campaign(_document(thresholds=thresholds))
    assert capsys.readouterr().out.splitlines() == [
        "::error title=INVALID churn%2C a::threshold claims: 4, wanted at least 5",
        "::warning title=UNKNOWN churn%2C a::threshold claims: none",
    ]
