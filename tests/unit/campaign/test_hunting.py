"""Campaigns as sessions of pytest, without clusters: what is made, and what ends them."""

import pathlib

import msgspec
import pytest

from harness import clocks, errors
from harness.campaign import (
    budgets,
    campaign_documents,
    campaign_plan,
    hunting,
    junit_files,
    plugin,
)
from harness.campaign.budgets import Ending
from harness.history import results
from harness.run import progressing
from tests.support import shards

pytestmark = pytest.mark.slow

PLAN = shards.campaign(subjects=4, controls=3)
Made = dict[int, list[results.RunResult]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Number of a run -> the results of its attempts, of which it takes the next one."""
    made = {run.number: [shards.result(run)] for run in PLAN.runs}
    monkeypatch.setattr(
        plugin.RunItem, "_attempt", lambda item, attempt: made[item._run.number][attempt]
    )
    return made


def hunted(plan: campaign_plan.CampaignPlan, folder: pathlib.Path) -> hunting.Hunted:
    return hunting.hunt(plan, folder, listener=lambda result: None)


def test_each_attempt_is_made_once(tmp_path: pathlib.Path, made: Made) -> None:
    made |= shards.outcomes(PLAN)
    found = hunted(PLAN, tmp_path).results
    assert found == [result for attempts in made.values() for result in attempts]


def test_a_run_whose_process_died_is_named_and_told(tmp_path: pathlib.Path, made: Made) -> None:
    made.clear()
    found = hunted(PLAN, tmp_path).results
    names = [(run.number, run.subject) for run in PLAN.runs]
    assert [(run.number, run.subject) for run in found] == names
    assert all("KeyError" in run.error for run in found)


# ---------------------------------------------------------------------------- --exit-first


def plan(**changes: object) -> campaign_plan.CampaignPlan:
    """Four runs of the subject and two of a control."""
    return msgspec.structs.replace(PLAN, **{"runs": RUNS, "exit_first": True, **changes})


RUNS = PLAN.runs[:6]


def hunt(folder: pathlib.Path, **changes: object) -> hunting.Hunted:
    return hunted(plan(**changes), folder)


def document(found: hunting.Hunted, folder: pathlib.Path) -> campaign_documents.CampaignDocument:
    return campaign_documents.document(found.results, plan(), folder, ending=found.ending)


@pytest.mark.parametrize(
    ("number", "worse", "verdict", "code"),
    [
        (2, [shards.violated(RUNS[1])], "INVALID", 10),
        (2, [shards.result(RUNS[1], verdict=shards.UNKNOWN)], "UNKNOWN", 20),
        (2, [shards.result(RUNS[1], verdict=None, error="no engine")], "ERROR", 1),
        (2, [shards.result(RUNS[1], verdict=None, error="x", is_usage_error=True)], "ERROR", 2),
        (5, shards.missed(RUNS[4]), "UNKNOWN", 20),
    ],
)
def test_the_first_run_that_is_not_as_expected_ends_it(
    tmp_path: pathlib.Path,
    made: Made,
    number: int,
    worse: list[results.RunResult],
    verdict: str,
    code: int,
) -> None:
    made[number] = worse
    found = hunt(tmp_path)
    assert {result.number for result in found.results} == set(range(1, number + 1))
    assert found.ending is Ending.FIRST
    said = document(found, tmp_path)
    assert (said.verdict, said.exit_code) == (verdict, code)
    assert (
        "it ended at the first run that was not as expected (--exit-first), so that "
        f"{6 - number} of 6 planned runs were not made" in said.summary
    )
    left = ["no run was made of: pod-churn with gather-not-atomic"] if number == 2 else []
    assert said.notes == left
    assert junit_files.render(plan(), found.results).count("<skipped") == 6 - number


def test_a_campaign_with_a_time_budget_may_end_before(tmp_path: pathlib.Path, made: Made) -> None:
    made[2] = [shards.violated(RUNS[1])]
    budget: dict[str, object] = {"minutes": 60.0, "deadline_ns": clocks.monotonic_ns() + 10**13}
    found = hunt(tmp_path, **budget)
    said = campaign_documents.document(found.results, plan(**budget), tmp_path, ending=found.ending)
    assert (len(found.results), said.verdict, said.exit_code) == (2, "INVALID", 10)
    assert "so that 4 of 6 planned runs were not made" in said.summary
    assert "budget" not in said.summary


def test_a_control_that_is_caught_by_its_next_attempt_ends_nothing(
    tmp_path: pathlib.Path, made: Made
) -> None:
    made[5] = [*shards.missed(RUNS[4], 2), shards.result(RUNS[4], attempt=2)]
    found = hunt(tmp_path)
    assert not found.ending
    assert not (tmp_path / budgets.MARK).exists()
    assert (document(found, tmp_path).verdict, len(found.results)) == ("VALID", 8)


def test_all_runs_are_made_without_the_option(tmp_path: pathlib.Path, made: Made) -> None:
    made[1] = [shards.violated(RUNS[0])]
    assert len(hunt(tmp_path, exit_first=False).results) == 6


def test_a_campaign_that_its_last_run_ends_was_whole(tmp_path: pathlib.Path, made: Made) -> None:
    made[6] = shards.missed(RUNS[5])
    found = hunt(tmp_path)
    assert not found.ending
    assert "--exit-first" not in document(found, tmp_path).summary


def test_what_was_not_made_is_never_valid(tmp_path: pathlib.Path) -> None:
    """The control was caught once and missed once: its row is as expected, the end was not."""
    found = [*(shards.result(run) for run in RUNS[:5]), *shards.missed(RUNS[5])]
    whole = campaign_documents.document(found, plan(), tmp_path)
    assert whole.verdict == "VALID"
    ended = campaign_documents.document(found, plan(), tmp_path, ending=Ending.FIRST)
    assert (ended.verdict, ended.exit_code) == ("UNKNOWN", 20)


def test_a_run_under_way_is_cut(tmp_path: pathlib.Path) -> None:
    budget = budgets.Budget(plan(), tmp_path)
    deadline = progressing.Deadline(lambda: budget.left_s(RUNS[0]))
    deadline.require_time()
    assert deadline.left_s() > 0
    budget.end()
    with pytest.raises(errors.TimeUpError):
        deadline.require_time()
    assert deadline.has_cut
