"""Runs are divided among shards so that these take the same time."""

import collections
import json
import pathlib

import hypothesis
import pytest
from hypothesis import strategies

from harness.campaign.sharding import balancing


def test_without_durations_runs_are_dealt_in_turn() -> None:
    assert balancing.assign([None] * 7, 3) == [1, 2, 3, 1, 2, 3, 1]


def test_a_long_run_has_a_shard_of_its_own() -> None:
    assert balancing.assign([1.0, 9.0, 1.0, 1.0, 1.0], 2) == [2, 1, 2, 2, 2]


def test_an_unknown_duration_counts_as_the_median_of_the_known_ones() -> None:
    assert balancing.assign([None, 8.0, 2.0, 2.0, None], 2) == [2, 1, 2, 2, 2]


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
    numbers = balancing.assign(expected, shards)
    assert set(numbers) == set(range(1, shards + 1))
    assert numbers == balancing.assign(expected, shards)
    if None not in expected:
        work: collections.defaultdict[int, float] = collections.defaultdict(float)
        for number, seconds in zip(numbers, expected, strict=True):
            work[number] += seconds
        known = [seconds for seconds in expected if seconds is not None]
        assert max(work.values()) <= sum(known) / shards + max(known) + 1e-9


def write(reports: pathlib.Path, name: str, *results: dict[str, object]) -> pathlib.Path:
    folder = reports / "campaigns" / name
    folder.mkdir(parents=True)
    lines = [json.dumps({"scenario": "churn", "subject": "correct"} | item) for item in results]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_durations_are_those_of_earlier_campaigns(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "a", {"seconds": 2.0}, {"seconds": 4.0}, {"seconds": 99.0, "error": "it died"})
    write(tmp_path, "b", {"seconds": 6.0}, {"subject": "x", "seconds": 1.0})
    assert balancing.known_durations(tmp_path) == {("churn", "correct"): 4.0, ("churn", "x"): 1.0}


def test_further_attempts_count_for_their_run(tmp_path: pathlib.Path) -> None:
    attempts = [{"seconds": 5.0, "attempt": number} for number in range(3)]
    write(tmp_path, "a", *attempts, {"seconds": 5.0, "attempt": 0})
    assert balancing.known_durations(tmp_path) == {("churn", "correct"): 10.0}


@pytest.mark.parametrize("content", ["{", '{"scenario": 5}\n', "[" * 100_000, "\x00"])
def test_damaged_campaigns_are_left_out(tmp_path: pathlib.Path, content: str) -> None:
    write(tmp_path, "a", {"seconds": 2.0})
    (write(tmp_path, "b") / "results.jsonl").write_text(content)
    (tmp_path / "campaigns" / "c").mkdir()
    assert balancing.known_durations(tmp_path) == {("churn", "correct"): 2.0}
    assert balancing.known_durations(tmp_path / "none") == {}
