"""Shrink the decisions of a failing run: fewer deviations first, then earlier ends."""

from collections.abc import Callable, Sequence

Fails = Callable[[Sequence[int]], bool]
"""Returns whether the run with these decisions still has the finding."""


def shrink(decisions: Sequence[int], fails: Fails, *, tries_max: int = 2000) -> list[int]:
    """Return decisions with fewer deviations that still fail, or the same ones."""
    budget = _Budget(fails, tries_max)
    smaller = _without_chunks(list(decisions), budget)
    smaller = _lowered(smaller, budget)
    while smaller and smaller[-1] == 0:
        smaller.pop()
    return smaller


class _Budget:
    """Limits the number of tries; once exhausted, every further candidate is rejected."""

    def __init__(self, fails: Fails, tries: int) -> None:
        self._fails, self._left = fails, tries

    def __call__(self, decisions: Sequence[int]) -> bool:
        self._left -= 1
        return self._left >= 0 and self._fails(decisions)


def _without_chunks(decisions: list[int], fails: _Budget) -> list[int]:
    """Remove deviations by delta debugging: halves, quarters, …, single ones."""
    size = max(len(_deviating(decisions)) // 2, 1)
    while True:
        places = _deviating(decisions)
        for start in range(0, len(places), size):
            candidate = _zeroed(decisions, places[start : start + size])
            if fails(candidate):
                decisions = candidate
                break
        else:
            if size == 1:
                return decisions
            size = size // 2


def _lowered(decisions: list[int], fails: _Budget) -> list[int]:
    """Replace each deviation by the smallest option that still fails."""
    for index in _deviating(decisions):
        for value in range(1, decisions[index]):
            candidate = [*decisions[:index], value, *decisions[index + 1 :]]
            if fails(candidate):
                decisions = candidate
                break
    return decisions


def _deviating(decisions: Sequence[int]) -> list[int]:
    return [index for index, decision in enumerate(decisions) if decision]


def _zeroed(decisions: Sequence[int], places: Sequence[int]) -> list[int]:
    candidate = list(decisions)
    for place in places:
        candidate[place] = 0
    return candidate
