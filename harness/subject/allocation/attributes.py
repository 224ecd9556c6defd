"""Constraints on the attributes of a claim's devices: `matchAttribute` and `distinctAttribute`.

After constraint.go of k8s.io/dynamic-resource-allocation/structured. A value may be a list: devices
match when they have one value in common, and are distinct when they have none. The state of a
constraint is a value that each device replaces, never an object that changes: giving a device up
needs no undoing.
"""

import dataclasses
import functools
from typing import Any

from harness.model.objects import Object
from harness.subject.allocation import device_requests, devices

State = frozenset[tuple[str, Any]] | None
"""The values that the next device must share, or must not have; None: there is no device yet."""


class UnknownConstraintError(ValueError):
    """A constraint of a kind that the allocator does not know."""


@dataclasses.dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint of a claim."""

    attribute: str
    """Qualified by its domain."""
    is_match: bool
    """False: the devices must be distinct."""
    requests: frozenset[str]
    """Names of requests, or of alternatives as `request/subrequest`; empty: all requests."""

    def covers(self, option: device_requests.Option) -> bool:
        return not self.requests or not self.requests.isdisjoint((option.request, option.name))

    def accept(self, state: State, device: devices.Device) -> State:
        """Return the state with one more device; None: the device violates the constraint."""
        values = device.attribute(self.attribute)
        if values is None:
            return None
        if state is None:
            return values
        if self.is_match:
            return state & values or None
        return state | values if state.isdisjoint(values) else None


def constraints_of(claim: Object) -> tuple[Constraint, ...]:
    """Return the constraints of a claim. Raises UnknownConstraintError for an unknown kind."""
    listed = (claim["spec"].get("devices") or {}).get("constraints") or ()
    return tuple(map(_constraint, listed))


def accept_all(
    constraints: tuple[Constraint, ...],
    states: tuple[State, ...],
    option: device_requests.Option,
    device: devices.Device,
) -> tuple[State, ...] | None:
    """Return the states of all constraints with one more device; None: it violates one of them."""
    accepted = []
    for constraint, state in zip(constraints, states, strict=True):
        changed = state
        if constraint.covers(option):
            changed = constraint.accept(state, device)
            if changed is None:
                return None
        accepted.append(changed)
    return tuple(accepted)


def _constraint(document: Object) -> Constraint:
    for key in ("matchAttribute", "distinctAttribute"):
        if document.get(key):
            return _of_kind(key, document[key], frozenset(document.get("requests") or ()))
    known = sorted(document)
    raise UnknownConstraintError(f"expected matchAttribute or distinctAttribute, got {known}")


@functools.lru_cache(1024)
def _of_kind(key: str, attribute: str, requests: frozenset[str]) -> Constraint:
    return Constraint(attribute, key == "matchAttribute", requests)
