"""A campaign with a time budget: what it plans, what it cuts, and what may be said of the rest."""

import pathlib

import msgspec
import pytest

from harness import clocks, errors
from harness.campaign import (
    budgets,
    campaign_documents,
    campaign_plan,
    hunting,
    plugin,
    results,
    summaries,
)
from harness.campaign.endings import Ending
from harness.campaign.purposes import Purpose
from harness.checks.verdicts import Verdict
from harness.history import directories, retention

OK, BAD, OPEN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
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


def test_a_question_keeps_its_own_runs() -> None:
    asked = msgspec.structs.replace(first_round(), until_decided="0.5@0.9")
    assert len(budgets.planned(asked, 60, begun_ns=0, jobs=1).runs) == len(asked.runs)


@pytest.mark.parametrize("minutes", [0, -1])
def test_no_time_is_no_budget(minutes: float) -> None:
    with pytest.raises(errors.UsageError, match=f"more than 0, got {minutes}"):
        budgets.require(minutes)
    budgets.require(None)
    budgets.require(0.1)


@pytest.mark.parametrize(
    ("used_s", "before_s", "ended"),
    [(0, 0, False), (53, 0, False), (53, 3, True), (56, 0, True), (70, 0, True)],
)
def test_it_ends_early_enough_to_write_the_pages(
    used_s: float, before_s: float, *, ended: bool
) -> None:
    assert budgets.has_ended(plan(1, used_s=used_s), before_s=before_s) is ended


def test_without_a_budget_it_never_ends() -> None:
    assert not budgets.has_ended(first_round(), before_s=1e9)


# ------------------------------------------------------------------------------ the verdict

ALL = [result("correct", OK), result("a-defect", BAD), result("b-defect", BAD)]


def document(
    found: list[results.RunResult], tmp_path: pathlib.Path, *, ending: Ending = Ending.NONE
) -> campaign_documents.CampaignDocument:
    cut = [run for run in found if run.cut]
    return campaign_documents.document(
        results.rows(found), plan(0.5), tmp_path, cut=cut, ending=ending
    )


@pytest.mark.parametrize(
    ("found", "verdict", "code"),
    [
        (ALL, "VALID", 0),
        ([*ALL, result("correct", None, cut=True)], "VALID", 0),
        (ALL[1:], "UNKNOWN", 20),
        (ALL[:2], "UNKNOWN", 20),
        ([*ALL[:2], result("b-defect", None, cut=True)], "UNKNOWN", 20),
        ([*ALL[1:], result("correct", None, cut=True)], "UNKNOWN", 20),
        ([], "UNKNOWN", 20),
        ([result("correct", BAD)], "INVALID", 10),
        ([*ALL, result("correct", BAD)], "INVALID", 10),
        ([*ALL, result("correct", OPEN)], "UNKNOWN", 20),
        ([*ALL[:2], result("b-defect", OK)], "UNKNOWN", 20),
        ([*ALL, result("correct", None, error="no engine")], "ERROR", 1),
    ],
)
def test_what_was_not_examined_is_not_valid(
    tmp_path: pathlib.Path, found: list[results.RunResult], verdict: str, code: int
) -> None:
    made = document(found, tmp_path)
    assert (made.verdict, made.exit_code) == (verdict, code)


def test_what_the_time_did_not_suffice_for_is_named(tmp_path: pathlib.Path) -> None:
    made = document([*ALL[:2], result("b-defect", None, cut=True)], tmp_path)
    assert "the budget of 0.5 minutes ended before 1 of 3 kinds of runs had one" in made.summary
    assert made.notes == [
        "no run was made of: churn with b-defect",
        "cut, and not counted: churn with b-defect",
    ]
    assert [len(row.runs) for row in made.rows] == [1, 1]


def test_an_interruption_is_named_as_one(tmp_path: pathlib.Path) -> None:
    made = document(ALL[:2], tmp_path, ending=Ending.INTERRUPTED)
    assert "it was interrupted before 1 of 3 kinds of runs had one" in made.summary


def test_a_whole_campaign_has_nothing_to_note(tmp_path: pathlib.Path) -> None:
    made = document(ALL, tmp_path)
    assert (made.notes, "budget" in made.summary) == ([], False)


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
    assert "<skipped" not in (tmp_path / summaries.JUNIT_NAME).read_text()


def test_a_missed_control_is_not_tried_again_after_the_end(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    found = hunted(tmp_path, monkeypatch, clock, OK, used_s=14.5)
    assert [run.subject for run in found] == ["correct"]
    assert (tmp_path / summaries.JUNIT_NAME).read_text().count("<skipped") > 0


def test_a_run_that_was_cut_is_skipped_in_junit(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        return budgets.cut(item._run, seconds=1.0 + number)

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    made = hunting.hunt(first_round(repeat=1), tmp_path, listener=lambda result: None)
    assert [run.cut for run in made.results if run.attempt == 0] == [True] * len(made.results)
    text = (tmp_path / summaries.JUNIT_NAME).read_text()
    assert 'errors="0" failures="0"' in text
    assert "the time budget ended during the run" in text
    assert results.rows(made.results) == []


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
    assert (tmp_path / summaries.JUNIT_NAME).is_file()
    with pytest.raises(KeyboardInterrupt):
        hunting.hunt(first_round(), tmp_path, listener=lambda result: None)


def test_only_the_first_runs_as_expected_keep_their_evidence(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts_of = {"correct": iter([OK, OK, BAD, OPEN, OK]), "a-defect": iter([BAD])}
    removed: list[str] = []

    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        run = item._run
        found = result(run.subject, next(verdicts_of[run.subject]))
        return msgspec.structs.replace(found, number=run.number, directory=f"run-{run.number}")

    def remove(directory: directories.RunDirectory, *, reason: str) -> None:
        assert reason == "--keep 2"
        removed.append(directory.path.name)

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    monkeypatch.setattr(retention, "remove", remove)
    runs = [run for run in first_round(repeat=5).runs if run.subject != "b-defect"][:6]
    numbered = [msgspec.structs.replace(run, number=at) for at, run in enumerate(runs)]
    kept = msgspec.structs.replace(first_round(), runs=numbered, keep=2)
    hunting.hunt(kept, tmp_path, listener=lambda result: None)
    assert removed == ["run-4", "run-5"]
