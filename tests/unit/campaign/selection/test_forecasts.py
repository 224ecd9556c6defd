"""The forecast of `--dry-run`: order, times, and the time of all."""

import pathlib

import pytest

from harness.campaign.selection import forecasts
from tests.support import shards


@pytest.mark.parametrize(
    ("durations", "jobs", "expected"),
    [
        ([], 2, 0),
        ([5], 3, 5),
        ([1, 1, 1, 1], 2, 2),
        ([10, 1, 1, 1], 2, 10),
        ([1, 1, 1, 10], 2, 11),
        ([4, 3, 2, 1], 1, 10),
    ],
)
def test_a_run_begins_as_soon_as_one_has_ended(
    durations: list[float], jobs: int, expected: float
) -> None:
    assert forecasts.ended_after_s(durations, jobs) == expected


def test_times_are_measured_where_there_are_some(tmp_path: pathlib.Path) -> None:
    plan = shards.campaign(subjects=2, controls=1)
    folder = tmp_path / "campaigns" / "a"
    folder.mkdir(parents=True)
    made = [shards.result(run, seconds=20.0 + run.number) for run in plan.runs[:2]]
    (folder / "results.jsonl").write_bytes(shards.lines(made))
    found = forecasts.forecast(plan, jobs=1, reports=tmp_path, first=3)
    times = [(run.seconds, run.is_measured) for run in found.runs]
    assert times[:2] == [(21.5, True)] * 2
    assert not times[2][1]
    assert times[2][0] == plan.runs[2].estimate_s
    assert found.seconds == pytest.approx(sum(seconds for seconds, _ in times))
    assert [run.seed for run in found.runs] == [run.seed for run in plan.runs]
    shorter = forecasts.forecast(plan, jobs=3, reports=tmp_path, first=2)
    assert (shorter.seconds, len(shorter.runs)) == (21.5, 2)
