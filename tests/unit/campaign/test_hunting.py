"""Campaigns as sessions of pytest, without clusters."""

import pathlib

import msgspec
import pytest

from harness.campaign import hunting, plugin
from harness.history import results
from tests.support import shards

pytestmark = pytest.mark.slow

PLAN = shards.campaign(subjects=4, controls=3)
OUTCOMES = shards.outcomes(PLAN)


def test_each_attempt_is_made_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        return OUTCOMES[item._run.number][number]

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    found = hunting.hunt(PLAN, tmp_path, listener=lambda result: None).results
    assert found == [result for attempts in OUTCOMES.values() for result in attempts]


def test_a_run_whose_process_died_is_named_and_told(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        raise RuntimeError(f"no attempt {number}")

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    found = hunting.hunt(PLAN, tmp_path, listener=lambda result: None).results
    assert [(run.number, run.subject) for run in found] == [
        (run.number, run.subject) for run in PLAN.runs
    ]
    assert all("no attempt 0" in run.error for run in found)


@pytest.mark.parametrize(("done", "workers"), [(0, 3), (5, 2)])
def test_no_more_workers_are_started_than_runs_are_left(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, done: int, workers: int
) -> None:
    """Each would import everything and then wait."""
    asked: list[str] = []

    def main(arguments: list[str], plugins: object) -> pytest.ExitCode:
        del plugins
        asked.extend(arguments)
        return pytest.ExitCode.OK

    monkeypatch.setattr(pytest, "main", main)
    left = msgspec.structs.replace(PLAN, jobs=3, done=list(range(done)))
    hunting.hunt(left, tmp_path, listener=lambda result: None)
    assert [item.partition("*")[0] for item in asked if "*popen" in item] == [str(workers)]
