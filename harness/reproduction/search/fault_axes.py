"""Simpler faults: without one of them, fewer times, shorter, and without conditions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.reproduction.search import load_axes
from harness.scenario import specs
from harness.scenario.fault_kinds import fault

SECONDS_LEAST = 0.05
"""Shortest time that is tried, in seconds."""
_SECONDS = ("seconds", "down_s", "overlap_s", "interval_s")
"""Keys of times that can be shorter."""
_PLAIN: dict[str, Any] = {"skip": 0, "every": 1, "probability": 1.0, "start_s": 0.0}
"""Keys of conditions, each with the value of a fault that has none."""


def without(scenario: specs.Scenario) -> Iterator[tuple[str, specs.Scenario | None]]:
    """Yield (name, scenario without the fault of this name) for each fault.

    None: another fault begins after it.
    """
    named = scenario.named_faults
    for index, (name, _) in enumerate(named):
        others = [spec for number, (_, spec) in enumerate(named) if number != index]
        is_needed = any(spec.start_after and spec.start_after.fault == name for spec in others)
        kept = _with_names(named[:index] + named[index + 1 :])
        yield name, None if is_needed else load_axes.changed(scenario, faults=kept)


def plainer(scenario: specs.Scenario) -> Iterator[tuple[str, specs.Scenario]]:
    """Yield (change, scenario with it) for each condition of a fault that can be left out."""
    for index, (name, spec) in enumerate(scenario.named_faults):
        for key, plain in _PLAIN.items():
            if getattr(spec, key, plain) != plain:
                yield f"{key} of {name}", _replaced(scenario, index, {key: plain})


def axes(scenario: specs.Scenario) -> Iterator[load_axes.Axis]:
    """Yield the sizes of faults that can be smaller: times if they are limited, then seconds."""
    named = scenario.named_faults
    for index, (name, spec) in enumerate(named):
        times = getattr(spec, "times", None)
        yield from load_axes.sized(f"times of {name}", times, 1, _to(scenario, index, "times"))
    for index, (name, spec) in enumerate(named):
        for key in _SECONDS:
            now = getattr(spec, key, 0.0)
            if key != "interval_s" or getattr(spec, "times", None) != 1:
                replaced = _to(scenario, index, key)
                yield from load_axes.sized(f"{key} of {name}", now, SECONDS_LEAST, replaced)


def _to(scenario: specs.Scenario, index: int, key: str) -> Callable[[Any], specs.Scenario]:
    return lambda size: _replaced(scenario, index, {key: size})


def _replaced(scenario: specs.Scenario, index: int, keys: dict[str, Any]) -> specs.Scenario:
    faults = list(scenario.faults)
    faults[index] = faults[index].model_copy(update=keys)
    return load_axes.changed(scenario, faults=faults)


def _with_names(named: Sequence[tuple[str, fault.Fault]]) -> list[fault.Fault]:
    """Return the faults with their names, which would otherwise depend on the faults before."""
    return [
        spec if name == spec.kind else spec.model_copy(update={"name": name})
        for name, spec in named
    ]
