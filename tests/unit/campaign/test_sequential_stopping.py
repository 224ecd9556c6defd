"""Runs end when the rate of their subject is decided: which runs count, in which order."""

import json
import pathlib
from collections.abc import Sequence

import msgspec
import pytest

from harness import errors
from harness.campaign import (
    bisection,
    campaign_documents,
    campaign_plan,
    hunting,
    plugin,
    results,
    sequential_stopping,
    summaries,
)
from harness.campaign.purposes import Purpose
from harness.checks.verdicts import Verdict
from harness.statistics.confidence_sequences import Answer

V, X, U = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
"""Verdicts, short."""


def plan(*, runs: int, question: str = "0.5@0.9") -> campaign_plan.CampaignPlan:
    """Runs of a subject, one control each in between."""
    planned = [
        campaign_plan.PlannedRun(
            scenario="churn",
            title="churn",
            purpose=purpose,
            defects=["bad"] if purpose is Purpose.CONTROL else [],
            repetition=number // 2,
            number=number + 1,
            seed=number,
        )
        for number in range(2 * runs)
        for purpose in [Purpose.CONTROL if number % 2 else Purpose.SUBJECT]
    ]
    return campaign_plan.CampaignPlan(
        seed=1, reports="r", cluster={}, runs=planned, until_decided=question
    )


def made(number: int, verdict: Verdict | None) -> results.RunResult:
    return results.RunResult(
        number=2 * number + 1,
        scenario="churn",
        subject="correct",
        seconds=1,
        verdict=verdict,
        error="" if verdict else "it died",
    )


def in_order(outcomes: Sequence[Verdict | None]) -> list[results.RunResult]:
    return [made(number, verdict) for number, verdict in enumerate(outcomes)]


def decided(outcomes: Sequence[Verdict | None], runs: int = 30) -> sequential_stopping.Decision:
    (found,) = sequential_stopping.decisions(plan(runs=runs), in_order(outcomes))
    return found


def test_a_rate_below_the_limit_is_decided_and_names_its_runs() -> None:
    found = decided([V] * 20)
    assert found.answer is Answer.BELOW
    assert (found.invalid, found.conclusive, found.inconclusive) == (0, 4, 0)
    assert found.text == "below 50 % (90 %) after 4 runs, 0 of them INVALID"


def test_failures_decide_the_other_way() -> None:
    found = decided([X] * 20)
    assert found.answer is Answer.AT_LEAST
    assert found.text.startswith("at least 50 % (90 %) after ")
    assert found.invalid == found.conclusive > 2


def test_what_is_unknown_counts_as_neither_and_is_said() -> None:
    found = decided([U, V, None, V, V, V])
    assert (found.answer, found.conclusive, found.inconclusive) == (Answer.BELOW, 4, 2)
    assert found.text.endswith("0 of them INVALID; 2 runs more UNKNOWN or not executed")
    nothing = decided([U] * 30)
    assert (nothing.answer, nothing.conclusive) == (Answer.UNDECIDED, 0)


def test_what_is_not_decided_names_its_power() -> None:
    found = decided([V, V])
    assert found.answer is Answer.UNDECIDED
    assert found.text == (
        "not decided after 2 runs, 0 of them INVALID (power: as many runs decide about a subject "
        "that never fails with probability 0 %, and about one that fails in 100 % of its runs with "
        "0 %; 4 runs without a failure decide)"
    )


def test_runs_count_in_the_order_of_the_plan() -> None:
    """Failing runs that end first do not count before their predecessors."""
    late = [made(number, X) for number in range(2, 12)]
    (found,) = sequential_stopping.decisions(plan(runs=30), late)
    assert (found.answer, found.conclusive) == (Answer.UNDECIDED, 0)
    (found,) = sequential_stopping.decisions(plan(runs=30), [*late, *in_order([V, V])])
    assert found.conclusive > 2


def test_workers_learn_what_is_decided_and_controls_take_no_part(tmp_path: pathlib.Path) -> None:
    planned = plan(runs=30)
    subject, control = planned.runs[-2:]
    stopping = sequential_stopping.Stopping(planned, tmp_path)
    for result in in_order([V, V, V]):
        stopping.see(result)
        assert sequential_stopping.is_needed(tmp_path, subject)
    stopping.see(made(3, V))
    assert not sequential_stopping.is_needed(tmp_path, subject)
    assert sequential_stopping.is_needed(tmp_path, control)
    stopping.see(msgspec.structs.replace(made(4, X), purpose=Purpose.CONTROL))
    assert len(json.loads((tmp_path / sequential_stopping.DECIDED).read_bytes())) == 1


def test_without_a_question_nothing_is_stopped(tmp_path: pathlib.Path) -> None:
    planned = plan(runs=5, question="")
    stopping = sequential_stopping.Stopping(planned, tmp_path)
    for result in in_order([V] * 5):
        stopping.see(result)
    assert list(tmp_path.iterdir()) == []
    assert sequential_stopping.decisions(planned, in_order([V] * 5)) == []
    assert sequential_stopping.not_needed(planned, []) == set()


def controls(runs: int) -> list[results.RunResult]:
    return [
        results.RunResult(
            number=2 * number + 2,
            scenario="churn",
            subject="bad",
            purpose=Purpose.CONTROL,
            seconds=1,
            verdict=X,
            double_allocations=1,
        )
        for number in range(runs)
    ]


@pytest.mark.parametrize(
    ("outcomes", "verdict", "code"),
    [
        ([V] * 4, "VALID", 0),
        ([V] * 3, "ERROR", 1),  # the others were needed and were not made
        ([V, V, V, None, V], "ERROR", 1),
        ([V, X, V, V, V, V, V, V, V, V], "INVALID", 10),
    ],
)
def test_a_run_that_is_not_needed_is_not_missing(
    tmp_path: pathlib.Path, outcomes: list[Verdict | None], verdict: str, code: int
) -> None:
    found = [*in_order(outcomes), *controls(12)]
    document = campaign_documents.document(results.rows(found), plan(runs=12), tmp_path)
    assert (document.verdict, document.exit_code) == (verdict, code)


def test_a_campaign_that_is_not_decided_is_unknown(tmp_path: pathlib.Path) -> None:
    found = [*in_order([V] * 3), *controls(3)]
    document = campaign_documents.document(results.rows(found), plan(runs=3), tmp_path)
    assert (document.verdict, document.exit_code) == ("UNKNOWN", 20)
    assert document.summary.endswith("0 below 50 %, 0 at least 50 %, 1 not decided")
    assert document.answers[0].startswith("churn, correct: not decided after 3 runs")


@pytest.mark.parametrize(
    "text", ["0.01", "@", "0@0.9", "1@0.9", "0.1@1", "0.1@0.2", "a@b", "nan@0.9", "0.0001@0.95"]
)
def test_what_is_no_question_is_one_sentence(text: str) -> None:
    with pytest.raises(errors.UsageError, match=r"^expected .*got") as raised:
        sequential_stopping.question(text)
    assert "\n" not in str(raised.value)


def test_the_limit_of_runs_follows_from_the_question() -> None:
    question = sequential_stopping.question("0.01@0.95")
    assert str(question) == "0.01@0.95"
    assert sequential_stopping.runs_max(question) == 4 * 313
    assert sequential_stopping.runs_max(None) == 0


def test_a_hunt_makes_the_runs_that_are_needed_and_skips_the_others(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        is_control = item._run.purpose is Purpose.CONTROL
        whole = (controls(12) if is_control else in_order([V] * 12))[item._run.repetition]
        return msgspec.structs.replace(whole, attempt=number)

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    planned = plan(runs=12)
    found = hunting.hunt(planned, tmp_path, listener=lambda result: None).results
    assert [run.number for run in found] == sorted([1, 3, 5, 7, *range(2, 25, 2)])
    skipped = (tmp_path / summaries.JUNIT_NAME).read_text().count("<skipped")
    assert skipped == 8
    document = campaign_documents.document(results.rows(found), planned, tmp_path)
    assert (document.verdict, document.exit_code, document.planned) == ("VALID", 0, 24)


STEP = bisection.Step(rate=0.5, confidence=0.9, steps=1, start="x")
"""Five VALID runs make a revision good."""


def step(*outcomes: Verdict | None, runs: int = 10) -> sequential_stopping.Decision:
    stepped = msgspec.structs.replace(plan(runs=runs, question=""), bisect_step=STEP)
    (found,) = sequential_stopping.decisions(stepped, in_order(outcomes))
    return found


def test_in_a_bisection_one_failure_decides_and_only_so_many_clean_runs_do() -> None:
    assert STEP.runs == 5
    assert step(V, V, V, V).answer is Answer.UNDECIDED
    assert step(V, V, U, V, V, V).answer is Answer.BELOW
    found = step(V, V, X)
    assert (found.answer, found.invalid, found.conclusive) == (Answer.AT_LEAST, 1, 3)


def test_a_failure_decides_although_runs_before_it_go_on() -> None:
    stepped = msgspec.structs.replace(plan(runs=10, question=""), bisect_step=STEP)
    (found,) = sequential_stopping.decisions(stepped, [made(3, X)])
    assert found.answer is Answer.AT_LEAST
    (found,) = sequential_stopping.decisions(stepped, [made(number, V) for number in range(1, 9)])
    assert found.answer is Answer.UNDECIDED


@pytest.mark.parametrize(
    ("outcomes", "has_controls", "ends"),
    [
        ([V, V, X], True, True),
        ([V, V, V, V, V], False, True),
        ([V, V, V, V, V], True, False),  # the controls are still to be caught
        ([None, None, None], True, True),
        ([V, V, V, U], False, False),
    ],
)
def test_a_step_ends_the_campaign(
    tmp_path: pathlib.Path, outcomes: list[Verdict | None], has_controls: bool, ends: bool
) -> None:
    whole = plan(runs=10, question="")
    runs = [run for run in whole.runs if has_controls or run.purpose is Purpose.SUBJECT]
    stepped = msgspec.structs.replace(whole, bisect_step=STEP, runs=runs)
    stopping = sequential_stopping.Stopping(stepped, tmp_path)
    for result in in_order(outcomes):
        stopping.see(result)
    assert stopping.ends_all is ends


@pytest.mark.parametrize(
    ("outcomes", "caught", "code", "words"),
    [
        ([V, V, V, V, V], 10, 0, "step 1: good: 5 of 5 runs VALID"),
        ([V, U, V, V, V, V], 10, 0, "step 1: good: 5 of 6 runs VALID"),
        ([V, V, V, V, V], 0, 20, "step 1: cannot tell: 5 of 5 runs VALID, but a control"),
        ([V, X], 0, 10, "step 1: bad: run 2 is INVALID"),
        ([None, None, None], 0, 20, "step 1: cannot tell: 0 of 3 runs VALID, 5 needed"),
    ],
)
def test_a_step_has_an_exit_code_and_a_line(
    tmp_path: pathlib.Path, outcomes: list[Verdict | None], caught: int, code: int, words: str
) -> None:
    stepped = msgspec.structs.replace(plan(runs=10, question=""), bisect_step=STEP, exit_first=True)
    found = [*in_order(outcomes), *controls(10)[:caught]]
    found += [
        msgspec.structs.replace(run, verdict=V, double_allocations=0)
        for run in controls(10)[caught:]
    ]
    document = campaign_documents.document(results.rows(found), stepped, tmp_path)
    assert document.exit_code == code
    assert document.notes[0].startswith(words)
    assert "% of runs), first in" not in document.summary  # where a failure ended the runs
