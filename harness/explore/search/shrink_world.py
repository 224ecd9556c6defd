"""Shrink a finding: a smaller world first, then fewer deviations in it.

Decisions of one world mean nothing in another. Each smaller world is therefore searched again for a
finding of the same kind, with a fixed budget and fixed random numbers, so that the same finding
always shrinks to the same token.
"""

from collections.abc import Callable, Sequence

from harness.explore.search import search_campaign, tokens
from harness.explore.worlds import world_catalogue

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


STRATEGY = "pct"
SCHEDULES = 300
"""Number of runs in each smaller world."""
TRIES = 500
"""Maximum number of runs to remove deviations."""


def smallest(token: tokens.Token) -> tokens.Token:
    """Return the smallest token found whose finding is of the same kind."""
    kind = _kind(search_campaign.replay(token).finding)
    token = _in_the_smallest_world(token, kind)
    return _with_fewer_deviations(token, kind)


def _kind(finding: str | None) -> str:
    """Return the first word of a finding, its kind.

    It is `device` for a double allocation, `deadlock:`, `stuck:` or `livelock,`.
    """
    return (finding or "").partition(" ")[0]


def _in_the_smallest_world(token: tokens.Token, kind: str) -> tokens.Token:
    """Reduce one size after the other while the finding is still found."""
    for name in token.spec.sizes:
        while (
            sizes := world_catalogue.one_less(token.scenario, dict(token.sizes), name)
        ) is not None:
            smaller = _search(token, tuple(sizes.items()), kind)
            if smaller is None:
                break
            token = smaller
    return token


def _search(
    token: tokens.Token, sizes: tuple[tuple[str, int], ...], kind: str
) -> tokens.Token | None:
    hunt = search_campaign.Hunt(
        scenario=token.scenario,
        defects=token.defects,
        remedies=token.remedies,
        strategy=STRATEGY,
        seed=1,
        schedules=SCHEDULES,
        time_s=None,
        sizes=sizes,
    )
    *_, progress = search_campaign.explore(hunt)
    alike = [decisions for finding, decisions in progress.findings if _kind(finding) == kind]
    return hunt.token(alike[0]) if alike else None


def _with_fewer_deviations(token: tokens.Token, kind: str) -> tokens.Token:
    def fails(decisions: Sequence[int]) -> bool:
        return _kind(search_campaign.replay(token.with_decisions(decisions)).finding) == kind

    return token.with_decisions(shrink(token.decisions, fails, tries_max=TRIES))
