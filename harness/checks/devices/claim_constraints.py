"""The check of constraints: devices of a claim have attributes that are equal, or that differ.

The API promises (resource.k8s.io/v1, DeviceConstraint.matchAttribute): "MatchAttribute requires
that all devices in question have this attribute and that its type and value are the same across
those devices", and (DeviceConstraint.distinctAttribute) "that its type and value are unique across
those devices". Lists match if they have a value in common, and are distinct if they have none.

An allocation is wrong if its constraints do not hold for any versions of the devices up to it.
"""

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

from harness.checks.devices import allocation_judging, allocations, device_catalogue
from harness.checks.observed import observations, observed_claims

Values: TypeAlias = frozenset[tuple[str, Any]]
"""Types and values; a single attribute has one value, a list may have several."""
_UNCONSTRAINED = allocation_judging.Unjudged("the claim has no constraints", is_vacuous=True)


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Answer:
    if not grant.spec.constraints:
        return _UNCONSTRAINED
    answers = [_of(item, grant.results, catalogue, version) for item in grant.spec.constraints]
    wrong = [answer for answer in answers if isinstance(answer, allocation_judging.Wrong)]
    if wrong:
        text = "; ".join(answer.text for answer in wrong)
        return allocation_judging.Wrong(text, weight=sum(answer.weight for answer in wrong))
    return next((answer for answer in answers if answer is not None), None)


def _of(
    constraint: observed_claims.Constraint,
    results: Sequence[observed_claims.AllocationResult],
    catalogue: device_catalogue.DeviceCatalogue,
    version: int,
) -> allocation_judging.Answer:
    covered = [result for result in results if covers(constraint, result.request)]
    known = [catalogue.devices(result.id, version) for result in covered]
    if not all(known):
        return allocation_judging.UNKNOWN_DEVICE
    if not allocation_judging.is_tried(known):
        return allocation_judging.CHANGED_OFTEN
    if any(holds(constraint, chosen) for chosen in itertools.product(*known)):
        return None
    is_match = constraint.match_attribute is not None
    name = constraint.match_attribute or constraint.distinct_attribute
    devices = ", ".join(dict.fromkeys(result.id for result in covered))
    text = f"the attribute {name} must be {'the same' if is_match else 'different'} for {devices}"
    return allocation_judging.Wrong(text, weight=len(covered))


def covers(constraint: observed_claims.Constraint, request: str) -> bool:
    """Return whether a constraint is about the devices for a request, or for an alternative."""
    listed = constraint.requests
    return not listed or request in listed or request.partition("/")[0] in listed


def holds(
    constraint: observed_claims.Constraint, chosen: Sequence[device_catalogue.KnownDevice]
) -> bool:
    """Return whether a constraint holds; one of another kind than these two always does."""
    for name, agree in (
        (constraint.match_attribute, _have_one_in_common),
        (constraint.distinct_attribute, _are_disjoint),
    ):
        found = [_values(device, name) for device in chosen] if name else []
        known = [values for values in found if values is not None]
        if len(known) < len(found) or not agree(known):
            return False
    return True


def _values(known: device_catalogue.KnownDevice, name: str) -> Values | None:
    """Return the values of an attribute by its qualified name; None: the device lacks it.

    An attribute without a domain is in that of the driver.
    """
    attributes = known.device.attributes or {}
    attribute = attributes.get(name, attributes.get(name.removeprefix(f"{known.driver}/")))
    if not attribute:
        return None
    kind, content = next(iter(attribute.items()))
    if isinstance(content, list):
        return frozenset((kind.removesuffix("s"), item) for item in content)
    return frozenset(((kind, content),))


def _have_one_in_common(found: Sequence[Values]) -> bool:
    return not found or bool(frozenset.intersection(*found))


def _are_disjoint(found: Sequence[Values]) -> bool:
    return sum(map(len, found)) == len(frozenset().union(*found))


CHECK = allocation_judging.of_each(
    name="claim_constraints",
    guarantee="N",
    promise="the devices of a claim have the attributes that its constraints demand",
    good="all constraints hold",
    nothing="no claim with constraints was allocated",
    rests_on=(observations.SLICES,),
    ask=_ask,
)
