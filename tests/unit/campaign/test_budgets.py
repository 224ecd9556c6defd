"""A campaign with a time budget: what it plans, what it cuts, and what may be said of the rest."""

import math
import pathlib
from typing import Any

import msgspec
import pytest

from harness import clocks
from harness.campaign import (
    budgets,
    campaign_documents,
    campaign_plan,
    hunting,
    junit_files,
    plugin,
)
from harness.campaign.budgets import Ending
from harness.checks.verdicts import Verdict
from harness.history import results
from harness.history.purposes import Purpose
from tests.support import cases

OK, BAD = Verdict.VALID, Verdict.INVALID
KINDS = {"correct": Purpose.SUBJECT, "a-defect": Purpose.CONTROL, "b-defect": Purpose.CONTROL}


def first_round(*, repeat: int = 2) -> campaign_plan.CampaignPlan:
    runs = [
        campaign_plan.PlannedRun(
            scenario="churn",
            title="churn",
            purpose=purpose,
            defects=[] if purpose is Purpose.SUBJECT else [subject],
            repetition=turn,
            seed=turn,
            number=turn + 1,
        )
        for subject, purpose in KINDS.items()
        for turn in range(repeat)
    ]
    return campaign_plan.CampaignPlan(seed=1, reports="reports", cluster={}, runs=runs)


def plan(
    minutes: float = 60.0, *, used_s: float = 0.0, jobs: int = 1
) -> campaign_plan.CampaignPlan:
    begun_ns = clocks.monotonic_ns() - int(used_s * 1e9)
    return budgets.planned(first_round(), minutes, begun_ns=begun_ns, jobs=jobs)


def result(
    subject: str, verdict: Verdict | None, *, cut: bool = False, error: str = ""
) -> results.RunResult:
    return results.RunResult(
        scenario="churn",
        subject=subject,
        purpose=KINDS[subject],
        seconds=1.0,
        verdict=verdict,
        double_allocations=int(verdict is BAD),
        cut=cut,
        error=error,
    )


def test_the_first_round_has_each_kind_once_before_any_twice() -> None:
    kinds = [run.subject for run in plan().runs[: 2 * len(KINDS)]]
    assert kinds == [*KINDS, *KINDS]


def test_the_next_rounds_have_no_controls_and_new_seeds() -> None:
    runs = plan().runs
    later = runs[2 * len(KINDS) :]
    assert {run.purpose for run in later} == {Purpose.SUBJECT}
    assert len({run.id for run in runs}) == len(runs)
    assert len({run.seed for run in later}) == len(later)
    assert [run.number for run in runs] == list(range(1, len(runs) + 1))


@pytest.mark.parametrize(("minutes", "jobs", "least"), [(1, 1, 30), (1, 3, 90), (60, 2, 3600)])
def test_more_is_planned_than_the_time_can_have(minutes: float, jobs: int, least: int) -> None:
    assert least <= len(plan(minutes, jobs=jobs).runs) <= least + 2


def test_a_short_budget_plans_its_first_round_and_a_long_one_is_limited() -> None:
    assert len(plan(0.01).runs) == len(first_round().runs)
    assert len(plan(100_000).runs) <= budgets.RUNS_MAX + 2


def test_a_campaign_of_controls_alone_has_one_round() -> None:
    controls = [run for run in first_round().runs if run.purpose is Purpose.CONTROL]
    alone = msgspec.structs.replace(first_round(), runs=controls)
    assert len(budgets.planned(alone, 60, begun_ns=0, jobs=1).runs) == len(controls)


# ------------------------------------------------------------------------------ the target


def left_s(tmp_path: pathlib.Path, at: int, *, used_s: float = 70.0, **changes: Any) -> float:
    """The seconds that are left for a run of a campaign of a minute."""
    made = msgspec.structs.replace(plan(1, used_s=used_s), **changes)
    return budgets.Budget(made, tmp_path).left_s(made.runs[at])


def test_when_it_ends_the_first_run_of_each_kind_that_decides_may_take_as_long_again(
    tmp_path: pathlib.Path,
) -> None:
    """55 s of a minute: the rest is for the pages."""
    assert left_s(tmp_path, 2, used_s=0) == pytest.approx(103, abs=1)
    assert left_s(tmp_path, 2) == pytest.approx(33, abs=1)
    assert left_s(tmp_path, 2, used_s=104) < 0
    assert left_s(tmp_path, -1, used_s=50) == pytest.approx(5, abs=1), "a repetition"
    assert left_s(tmp_path, -1) < 0
    runs = [msgspec.structs.replace(run, purpose=Purpose.ASKED) for run in plan().runs]
    assert left_s(tmp_path, 2, runs=runs) < 0


def test_without_a_budget_no_run_ends(tmp_path: pathlib.Path) -> None:
    unlimited = budgets.Budget(first_round(), tmp_path)
    assert unlimited.left_s() == math.inf


@pytest.mark.parametrize(("found", "minutes"), cases.read(__file__, "that_will_do"))
def test_the_budget_that_will_do_follows_from_the_runs_on_this_machine(
    found: list[float], minutes: int
) -> None:
    made = [
        msgspec.structs.replace(result(subject, OK), seconds=seconds)
        for subject, seconds in zip(KINDS, found, strict=False)
    ]
    assert budgets.minutes_that_do(plan(1), made) == minutes


# ------------------------------------------------------------------------------ the verdict

ALL = [result("correct", OK), result("a-defect", BAD), result("b-defect", BAD)]


def ended(kind: str, word: str) -> results.RunResult:
    if word in list(Verdict):
        return result(kind, Verdict(word))
    return result(kind, None, cut=word == "cut", error="no engine" * (word == "ERROR"))


def document(
    found: list[results.RunResult], tmp_path: pathlib.Path
) -> campaign_documents.CampaignDocument:
    return campaign_documents.document(found, plan(0.5), tmp_path)


@pytest.mark.parametrize(("runs", "verdict", "code"), cases.read(__file__, "verdicts"))
def test_what_was_not_examined_is_not_valid(
    tmp_path: pathlib.Path, runs: dict[str, str], verdict: str, code: int
) -> None:
    """Each kind with what its runs ended with."""
    found = [ended(kind, word) for kind, words in runs.items() for word in words.split()]
    made = document(found, tmp_path)
    assert (made.verdict, made.exit_code) == (verdict, code)
    assert made.next.startswith("flake-hunt ") is (verdict == "UNKNOWN")
    assert not made.next or made.sentences[-1] == f"next: {made.next}"
    if "cut" not in str(runs) and len(runs) == len(KINDS):
        assert (made.notes, "budget" in made.summary) == ([], False), "there is nothing to note"


def test_what_the_time_did_not_suffice_for_is_named(tmp_path: pathlib.Path) -> None:
    made = document([*ALL[:2], result("b-defect", None, cut=True)], tmp_path)
    said = (
        "the budget of 0.5 minutes ended before 1 of 3 kinds of runs had one (--minutes 2 will do)"
    )
    assert said in made.summary
    assert made.next == "flake-hunt hunt --last-failed --reports reports --minutes 2"
    assert made.notes == [
        "no run was made of: churn with b-defect",
        "cut, and not counted: churn with b-defect",
    ]
    assert [len(row.runs) for row in made.rows] == [1, 1]


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (["test", "x"], "test x --minutes 2"),
        (["test", "x", "--minutes=1", "--", "--v=4"], "test x --minutes=1 --minutes 2 -- --v=4"),
    ],
)
def test_the_next_command_is_the_same_with_more_time(
    tmp_path: pathlib.Path, again: list[str], expected: str
) -> None:
    """The last one of several budgets counts, and what follows -- is the program's."""
    asked = msgspec.structs.replace(plan(0.5), again=again)
    made = campaign_documents.document(ALL[1:], asked, tmp_path)
    assert made.next == f"flake-hunt {expected}"


# ------------------------------------------------------------------------------- the runs


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that have passed; each attempt takes one of them."""
    now_s, real = [0.0], clocks.monotonic_ns()
    monkeypatch.setattr(clocks, "monotonic_ns", lambda: real + int(now_s[0] * 1e9))
    return now_s


def hunted(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    clock: list[float],
    verdict: Verdict,
    *,
    used_s: float = 0.0,
) -> list[results.RunResult]:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        clock[0] += 1.0
        found = result(item._run.subject, verdict)
        return msgspec.structs.replace(found, number=item._run.number, attempt=number)

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    made = hunting.hunt(plan(20 / 60, used_s=used_s), tmp_path, listener=lambda result: None)
    assert not made.ending
    return made.results


def test_no_run_begins_shortly_before_the_end(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    """20 s less two for the pages; three must be left."""
    found = hunted(tmp_path, monkeypatch, clock, BAD)
    assert len(found) == 10, "no more were planned"
    assert "<skipped" not in junit_files.render(plan(20 / 60), found)


def test_a_missed_control_is_not_tried_again_after_the_end(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    found = hunted(tmp_path, monkeypatch, clock, OK, used_s=30.5)
    assert [run.subject for run in found] == ["correct"]
    assert junit_files.render(plan(20 / 60), found).count("<skipped") > 0


def test_an_interrupted_campaign_with_a_budget_keeps_what_it_has(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        if item._run.number == 2:
            raise KeyboardInterrupt
        return msgspec.structs.replace(result(item._run.subject, OK), attempt=number)

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    made = hunting.hunt(plan(), tmp_path, listener=lambda result: None)
    assert made.ending is Ending.INTERRUPTED
    assert [(run.cut, run.reason) for run in made.results] == [(False, ""), (True, "interrupted")]
    with pytest.raises(KeyboardInterrupt):
        hunting.hunt(first_round(), tmp_path, listener=lambda result: None)
