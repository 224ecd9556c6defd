"""Faults that can never take effect, because an earlier one takes everything that they match.

A carrier applies the first fault that matches a call or event, in the order of the scenario, and
only that one (`faults.injection.Faults.strike`).
"""

from collections.abc import Sequence

from harness.run.fault_planning import traffic_rules
from harness.scenario import fault_specs


def hiding(
    spec: fault_specs.TrafficFault, earlier: Sequence[tuple[str, fault_specs.TrafficFault]]
) -> str | None:
    """Return the name of the first earlier fault that hides this one; None if none does."""
    return next((name for name, other in earlier if _hides(other, spec)), None)


def _hides(first: fault_specs.TrafficFault, second: fault_specs.TrafficFault) -> bool:
    """Return whether the first fault takes everything that the second one matches, at all times."""
    return (
        _takes_all(first)
        and _is_on_throughout(first, second)
        and traffic_rules.point(first) == traffic_rules.point(second)
        and set(traffic_rules.verbs(second)) <= set(traffic_rules.verbs(first))
        and _covers(first.on, second.on)
        and _covers_types(first, second)
    )


def _takes_all(spec: fault_specs.TrafficFault) -> bool:
    return (spec.skip, spec.every, spec.times, spec.probability) == (0, 1, None, 1.0)


def _is_on_throughout(first: fault_specs.TrafficFault, second: fault_specs.TrafficFault) -> bool:
    begins = first.start_after is None and first.start_s <= second.start_s
    return begins and first.duration_s is None


def _covers(first: fault_specs.TargetSpec, second: fault_specs.TargetSpec) -> bool:
    return (
        first.role == second.role
        and first.resource in ("", second.resource)
        and first.subresource in (None, second.subresource)
        and first.name in ("", "*", second.name)
    )


def _covers_types(first: fault_specs.TrafficFault, second: fault_specs.TrafficFault) -> bool:
    """Return whether the types of events fit; bookmarks are hit by one kind of fault only."""
    if isinstance(first, fault_specs.StarveBookmarks) != isinstance(
        second, fault_specs.StarveBookmarks
    ):
        return False
    all_types = ("ADDED", "MODIFIED", "DELETED")
    of_first, of_second = (
        set(getattr(spec, "event_types", ()) or all_types) for spec in (first, second)
    )
    return of_second <= of_first
