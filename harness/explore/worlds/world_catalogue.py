"""The small worlds that can be explored, by name, and their sizes."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from harness import errors, suggestions
from harness.explore.worlds import world_specs
from harness.explore.worlds.random_worlds import random_specs
from harness.scenario import hazards

Sizes = Mapping[str, int]
"""Changed sizes of a world."""
_ROOMS = ("scheduling", "lifecycles")


def _specs() -> Iterator[tuple[str, world_specs.WorldSpec]]:
    for room in _ROOMS:
        package = importlib.import_module(f"harness.explore.worlds.{room}")
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield from getattr(importlib.import_module(info.name), "WORLDS", {}).items()


_HAZARDS = dict(hazards.of_worlds())
WORLDS = {name: dataclasses.replace(spec, hazard=_HAZARDS.get(name)) for name, spec in _specs()}
"""The worlds by name; every token contains a fingerprint of its world."""


def sized(name: str, sizes: Sizes) -> world_specs.WorldSpec:
    """Return the spec of this name with changed sizes.

    Raises ScenarioError if the name, or a size or its value, is invalid.
    """
    spec = named(name)
    if spec is None:
        raise errors.ScenarioError(
            f"expected a world to explore, or random-NUMBER for a number below 10^19, got {name!r}."
            f"{suggestions.listed(name, [*WORLDS], title='Known', where='`flake-hunt scenarios worlds`')}"
        )
    for key, value in sizes.items():
        _require_size(name, spec.sizes, key, value)
    return spec.with_sizes(sizes)


def named(name: str) -> world_specs.WorldSpec | None:
    """Return the spec of this name, perhaps of a random world; None: there is none."""
    return WORLDS.get(name) or random_specs.spec(name)


def _require_size(name: str, known: Mapping[str, world_specs.Size], key: str, value: int) -> None:
    if not known:
        raise errors.ScenarioError(f"expected no --set, got {key!r}: {name} has no sizes")
    if key not in known:
        raise errors.ScenarioError(
            f"expected one of {', '.join(known)} to be changed in {name}, got {key!r}."
            f"{suggestions.did_you_mean(key, known)}"
        )
    if not known[key].least <= value <= world_specs.SIZE_MAX:
        raise errors.ScenarioError(
            f"expected {key} between {known[key].least} and {world_specs.SIZE_MAX} in {name}, "
            f"got {value}"
        )


def one_less(name: str, sizes: Sizes, key: str) -> Sizes | None:
    """Return the sizes with this one reduced by one; None if it is at its minimum."""
    size = sized(name, sizes).sizes[key]
    return {**sizes, key: size.value - 1} if size.value > size.least else None
