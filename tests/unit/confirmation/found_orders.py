"""Findings of small worlds, and the orders that they need."""

import functools
from unittest import mock

from harness.confirmation import needed_orders
from harness.explore.search import search_campaign, shrink_world, tokens

SEEDS = {"reservation-taken-back-late": 2}
"""The first one to try for a world whose other findings have orders that take long to shorten."""


@functools.cache
@mock.patch.object(shrink_world, "SCHEDULES", 60)  # a smaller world has it soon, or never
def found(world: str, kind: str = "") -> tokens.Token:
    """Return the first finding of a world, of this kind, that follows from an order."""
    for seed in range(SEEDS.get(world, 1), 9):
        for strategy in ("pct", "random"):
            hunt = search_campaign.Hunt(
                scenario=world,
                defects=(),
                strategy=strategy,
                seed=seed,
                schedules=1500,
                time_s=None,
            )
            *_, progress = search_campaign.explore(hunt)
            for finding, decisions in progress.findings:
                if finding.startswith(kind):
                    return shrink_world.smallest(hunt.token(decisions))
    raise AssertionError(f"nothing was found in {world}")


@functools.cache
def needed(world: str) -> needed_orders.NeededOrder:
    order = needed_orders.of_token(found(world))
    assert order is not None
    return order
