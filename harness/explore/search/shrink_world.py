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
    left = iter(range(tries_max))

    def fails_in_time(candidate: Sequence[int]) -> bool:
        return next(left, None) is not None and fails(candidate)

    smaller = _lowered(_without_chunks(list(decisions), fails_in_time), fails_in_time)
    while smaller and smaller[-1] == 0:
        smaller.pop()
    return smaller


def _without_chunks(decisions: list[int], fails: Fails) -> list[int]:
    """Remove deviations by delta debugging: halves, quarters, …, single ones."""
    size = max(len(_deviating(decisions)) // 2, 1)
    while True:
        places = _deviating(decisions)
        for start in range(0, len(places), size):
            zeroed = set(places[start : start + size])
            candidate = [0 if index in zeroed else it for index, it in enumerate(decisions)]
            if fails(candidate):
                decisions = candidate
                break
        else:
            if size == 1:
                return decisions
            size = size // 2


def _lowered(decisions: list[int], fails: Fails) -> list[int]:
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
