"""Figures are counted right; they enter no verdict."""

import pathlib

from harness.checks import judging
from harness.checks.figures import run_figures
from tests.histories import building


def _figures(tmp_path: pathlib.Path, text: str) -> run_figures.Figures:
    return judging.judge(building.build(tmp_path / "run", text)).figures


def test_counts(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "a= a+D1 p* b+D1 a~ c+D2! q* c-D2")
    assert (found.claims, found.pods, found.pods_running) == (3, 2, 2)
    assert (found.allocations, found.devices, found.devices_used_again) == (3, 2, 1)
    assert found.double_allocations == 1
    assert found.api_calls == 6
    assert found.api_errors == {"create pods 409 AlreadyExists": 1}


def test_times_come_from_the_records(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "a= b= . a+D1 . . b+D2")
    assert found.seconds == 1.0
    assert found.scheduling_seconds == 0.003
    assert found.allocations_per_s == 666.7
    waited = found.claim_to_allocation
    assert (waited.count, waited.p50_ms, waited.max_ms) == (2, 4.0, 5.0)


def test_of_nothing_there_is_nothing_to_say(tmp_path: pathlib.Path) -> None:
    found = _figures(tmp_path, "")
    assert found.scheduling_seconds is None
    assert found.allocations_per_s is None
    assert found.claim_to_allocation == run_figures.Latency(count=0)
