"""Counting in constant memory."""

import random

import pytest

from harness.explore.search import search_progress


@pytest.mark.parametrize("count", [0, 1, 100, 50_000])
def test_what_is_different_is_counted_once(count: int) -> None:
    stream = random.Random(1)
    states = [stream.getrandbits(61) for _ in range(count)]
    distinct = search_progress.Distinct()
    for state in [*states, *states]:
        distinct.add(state)
    assert len(distinct) == pytest.approx(count, rel=0.001)
