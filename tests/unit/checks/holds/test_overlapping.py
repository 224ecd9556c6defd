"""Overlapping intervals against the definition: every pair, one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checks.holds import overlapping

Interval = tuple[int, int, int]
"""key, start, end"""

# Few keys and a short line: ties, nesting and touching ends are the rule, and so are empty and
# backward intervals.
INTERVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-3, 12), st.integers(-3, 12)), max_size=14
)


def _columns(intervals: list[Interval]) -> tuple[overlapping.Integers, ...]:
    table = np.array(intervals, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _pairs(found: overlapping.Overlaps) -> list[tuple[int, int]]:
    return list(zip(found.first.tolist(), found.second.tolist(), strict=True))


def _share_a_point(one: Interval, other: Interval) -> bool:
    return one[0] == other[0] and bool(set(range(*one[1:])) & set(range(*other[1:])))


def _by_brute_force(intervals: list[Interval]) -> set[frozenset[int]]:
    return {
        frozenset((i, j))
        for (i, one), (j, other) in itertools.combinations(enumerate(intervals), 2)
        if _share_a_point(one, other)
    }


@given(INTERVALS)
def test_exactly_the_pairs_that_share_a_point_are_found(intervals: list[Interval]) -> None:
    found = overlapping.overlaps(*_columns(intervals))
    pairs = _pairs(found)
    assert {frozenset(pair) for pair in pairs} == _by_brute_force(intervals)
    assert len(pairs) == len(set(pairs)) == found.count


@given(INTERVALS)
def test_the_earlier_one_comes_first(intervals: list[Interval]) -> None:
    for first, second in _pairs(overlapping.overlaps(*_columns(intervals))):
        assert (intervals[first][1], first) < (intervals[second][1], second)


@given(INTERVALS, st.integers(0, 8))
def test_a_limit_lists_the_first_pairs_and_counts_all(intervals: list[Interval], most: int) -> None:
    everything = overlapping.overlaps(*_columns(intervals))
    limited = overlapping.overlaps(*_columns(intervals), pairs_max=most)
    assert limited.count == everything.count
    assert _pairs(limited) == _pairs(everything)[:most]


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], []),
        ([(0, 1, 5)], []),
        ([(0, 1, 5), (0, 5, 9)], []),
        ([(0, 1, 5), (1, 1, 5)], []),
        ([(0, 1, 5), (0, 4, 9)], [(0, 1)]),
        ([(0, 1, 9), (0, 2, 3), (0, 4, 5)], [(0, 1), (0, 2)]),
        ([(0, 1, 5), (0, 1, 5)], [(0, 1)]),
        ([(0, 1, 5), (0, 3, 3)], []),
        ([(0, 1, 5), (0, 4, 2)], []),
        ([(0, 1, 9), (1, 0, 1)], []),
    ],
    ids=[
        "none",
        "one",
        "touching",
        "two keys",
        "overlap",
        "nested",
        "equal",
        "empty",
        "backward",
        "next key",
    ],
)
def test_examples(intervals: list[Interval], expected: list[tuple[int, int]]) -> None:
    assert _pairs(overlapping.overlaps(*_columns(intervals))) == expected


def test_large_resource_versions_do_not_overflow() -> None:
    near = 2**62
    found = overlapping.overlaps(
        *_columns([(1, near, near + 5), (0, near, near + 5), (1, near + 4, near + 9)])
    )
    assert _pairs(found) == [(0, 2)]


@pytest.mark.parametrize("intervals", [[(5, 0, 2**61), (0, 1, 2)], [(1, 0, 2**62), (1, 1, 2)]])
def test_what_does_not_fit_is_refused(intervals: list[Interval]) -> None:
    with pytest.raises(ValueError, match="63 bits"):
        overlapping.overlaps(*_columns(intervals))
