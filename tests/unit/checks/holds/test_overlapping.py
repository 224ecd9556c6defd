"""Overlapping intervals against the definition: every pair, one by one."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checks.holds import double_allocations

Interval = tuple[int, int, int]
"""key, start, end"""

# Few keys and a short line: ties, nesting and touching ends are the rule, and so are empty and
# backward intervals.
INTERVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-3, 12), st.integers(-3, 12)), max_size=14
)


def _pairs(intervals: list[Interval]) -> list[tuple[int, int]]:
    table = pd.DataFrame(intervals, columns=["device", "from_rv", "until_rv"], dtype="int64")
    found = pd.concat(double_allocations.overlapping(table))
    return list(zip(found["first"], found["second"], strict=True))


@given(INTERVALS, st.integers(1, 8))
def test_parts_are_the_whole(intervals: list[Interval], most: int) -> None:
    whole = _pairs(intervals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(double_allocations, "PAIRS_AT_ONCE", most)
        assert _pairs(intervals) == whole


@pytest.mark.parametrize("near", [0, 2**62])
def test_large_resource_versions_do_not_overflow(near: int) -> None:
    intervals = [(1, near, near + 5), (0, near, near + 5), (1, near + 4, near + 9)]
    assert _pairs(intervals) == [(0, 2)]
    assert _pairs([(5, 0, near + 2**61), (0, 1, 2)]) == []
