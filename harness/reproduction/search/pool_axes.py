"""Simpler pools: without a kind of them or of claims, without a change, smaller, less often."""

from collections.abc import Iterator
from typing import Any

import pydantic

from harness.reproduction.search import load_axes
from harness.scenario import possibility, specs

SECONDS_LEAST = 0.05
"""Shortest time that is tried, in seconds."""
_KIND_SIZES, _CHANGE_SIZES = ("devices", "slices"), ("times", "devices", "slices")
"""Keys of numbers that can be smaller: of a kind of pools, and of a change."""
_CHANGE_SECONDS = ("start_s", "lasts_s")
"""Keys of times that can be shorter. A time between two changes is no size: less of it is more."""


def without(scenario: specs.Scenario) -> Iterator[tuple[str, specs.Scenario | None]]:
    """Yield (name, scenario without it) for each kind of claims, kind of pools and change.

    None: the rest would be invalid, for example because claims request devices of the kind. The
    last one of each comes first, so that those before it keep their numbers.
    """
    for index in reversed(range(len(scenario.claims))):
        rest = _but(scenario.claims, index)
        yield f"claims {index + 1}", _tried(scenario, claims=rest) if rest else None
    pools = scenario.pools
    for index, kind in reversed(list(enumerate(pools.more))):
        yield f"pools {kind.name}", _with_pools(scenario, more=_but(pools.more, index))
    for index, change in reversed(list(enumerate(pools.changes))):
        rest = _but(pools.changes, index)
        yield f"pool change {index + 1} ({change.kind})", _with_pools(scenario, changes=rest)


def axes(scenario: specs.Scenario) -> Iterator[load_axes.Axis]:
    """Yield the sizes of kinds of pools and of changes that can be smaller."""
    for index, kind in enumerate(scenario.pools.more):
        for key in _KIND_SIZES:
            yield from _axis(scenario, ("more", index), key, f"pools {kind.name}", 1)
    for index, change in enumerate(scenario.pools.changes):
        title, place = f"pool change {index + 1} ({change.kind})", ("changes", index)
        for key in _CHANGE_SIZES:
            yield from _axis(scenario, place, key, title, 1)
        for key in _CHANGE_SECONDS:
            yield from _axis(scenario, place, key, title, SECONDS_LEAST)


def _axis(
    scenario: specs.Scenario, place: tuple[str, int], key: str, title: str, least: float
) -> Iterator[load_axes.Axis]:
    items, index = place

    def replaced(size: float) -> specs.Scenario:
        changed = list(getattr(scenario.pools, items))
        changed[index] = changed[index].model_copy(update={key: size})
        return load_axes.changed(scenario, pools=scenario.pools.model_copy(update={items: changed}))

    now = getattr(getattr(scenario.pools, items)[index], key, None)
    yield from load_axes.sized(f"{key} of {title}", now, least, replaced)


def _with_pools(scenario: specs.Scenario, **parts: Any) -> specs.Scenario | None:
    return _tried(scenario, pools=scenario.pools.model_copy(update=parts))


def _tried(scenario: specs.Scenario, **parts: Any) -> specs.Scenario | None:
    """Return the scenario with other parts; None if it would be invalid or impossible."""
    try:
        candidate = load_axes.changed(scenario, **parts)
    except pydantic.ValidationError:
        return None
    return None if any(possibility.objections(candidate)) else candidate


def _but(items: list[Any], index: int) -> list[Any]:
    return items[:index] + items[index + 1 :]
