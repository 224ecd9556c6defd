"""The check of constraints: devices of a claim have attributes that are equal, or that differ.

The API promises (resource.k8s.io/v1, DeviceConstraint.matchAttribute): "MatchAttribute requires
that all devices in question have this attribute and that its type and value are the same across
those devices", and (DeviceConstraint.distinctAttribute) "that its type and value are unique across
those devices". Lists match if they have a value in common, and are distinct if they have none.

An allocation is wrong if its constraints do not hold for any versions of the devices up to it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from harness.checks.devices import allocation_judging, allocations, device_catalogue
from harness.checks.observed import observations, observed_claims

Values: TypeAlias = frozenset[tuple[str, Any]]
"""Types and values; a single attribute has one value, a list may have several."""


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Wrong | None:
    if not grant.spec.constraints:
        raise allocation_judging.Unjudged("the claim has no constraints", is_vacuous=True)
    wrong: list[allocation_judging.Wrong] = []
    doubts: list[allocation_judging.Unjudged] = []
    for item in grant.spec.constraints:
        try:
            wrong += _broken(item, grant.results, catalogue, version)
        except allocation_judging.Unjudged as doubt:
            doubts.append(doubt)
    if doubts and not wrong:
        raise doubts[0]
    return allocation_judging.joined(wrong)


def _broken(
    constraint: observed_claims.Constraint,
    results: Sequence[observed_claims.AllocationResult],
    catalogue: device_catalogue.DeviceCatalogue,
    version: int,
) -> Iterator[allocation_judging.Wrong]:
    covered = [result.id for result in results if covers(constraint, result.request)]
    known = [allocation_judging.known(device, catalogue, version) for device in covered]
    if any(holds(constraint, chosen) for chosen in allocation_judging.combined(known)):
        return
    is_match = constraint.match_attribute is not None
    name = constraint.match_attribute or constraint.distinct_attribute
    devices = ", ".join(dict.fromkeys(covered))
    yield allocation_judging.Wrong(
        f"the attribute {name} must be {'the same' if is_match else 'different'} for {devices}",
        weight=len(covered),
    )


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
