"""Making failing runs smaller."""

import random
from collections.abc import Sequence

import pytest

from harness.explore.search import shrink_world


def test_only_what_is_needed_stays() -> None:
    def fails(decisions: Sequence[int]) -> bool:
        padded = [*decisions, *[0] * 20]
        return padded[3] == 2 and padded[11] >= 1

    start = [random.Random(1).randrange(1, 4) for _ in range(20)]
    start[3] = 2
    assert shrink_world.shrink(start, fails) == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]


def test_nothing_is_lost_when_nothing_can_be_spared() -> None:
    start = [1, 1, 1]
    assert shrink_world.shrink(start, lambda decisions: list(decisions) == start) == start


@pytest.mark.parametrize("tries", [0, 1, 3])
def test_the_answer_fails_however_few_tries_there_are(tries: int) -> None:
    start = [1] * 30

    def fails(decisions: Sequence[int]) -> bool:
        return sum(decisions) >= 4

    assert fails(shrink_world.shrink(start, fails, tries_max=tries))
