"""Shrink a finding: a smaller world first, then fewer deviations in it.

Decisions of one world mean nothing in another. Each smaller world is therefore searched again for a
finding of the same kind, with a fixed budget and fixed random numbers, so that the same finding
always shrinks to the same token.
"""

from collections.abc import Sequence

from harness.explore.search import search_campaign, shrink_decisions, tokens
from harness.explore.worlds import world_catalogue

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
    """Return the first word of a finding, which tells its kind.

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

    return token.with_decisions(shrink_decisions.shrink(token.decisions, fails, tries_max=TRIES))
