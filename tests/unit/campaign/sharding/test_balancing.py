"""Runs are divided among shards so that these take the same time."""

import collections

import hypothesis
from hypothesis import strategies

from harness.campaign.sharding import sharded_plans


def test_without_durations_runs_are_dealt_in_turn() -> None:
    assert sharded_plans.assigned([None] * 7, 3) == [1, 2, 3, 1, 2, 3, 1]


def test_a_long_run_has_a_shard_of_its_own() -> None:
    assert sharded_plans.assigned([1.0, 9.0, 1.0, 1.0, 1.0], 2) == [2, 1, 2, 2, 2]


def test_an_unknown_duration_counts_as_the_median_of_the_known_ones() -> None:
    assert sharded_plans.assigned([None, 8.0, 2.0, 2.0, None], 2) == [2, 1, 2, 2, 2]


@hypothesis.given(
    strategies.lists(strategies.none() | strategies.floats(0.1, 100), min_size=1, max_size=40),
    strategies.data(),
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_no_shard_is_empty_and_none_has_more_than_the_fair_share_and_one_run(
    expected: list[float | None], data: strategies.DataObject
) -> None:
    """The bound of Graham's list scheduling."""
    shards = data.draw(strategies.integers(1, len(expected)))
    numbers = sharded_plans.assigned(expected, shards)
    assert set(numbers) == set(range(1, shards + 1))
    assert numbers == sharded_plans.assigned(expected, shards)
    if None not in expected:
        work: collections.defaultdict[int, float] = collections.defaultdict(float)
        for number, seconds in zip(numbers, expected, strict=True):
            work[number] += seconds
        known = [seconds for seconds in expected if seconds is not None]
        assert max(work.values()) <= sum(known) / shards + max(known) + 1e-9
