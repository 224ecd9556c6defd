"""The check of constraints: devices of a claim have attributes that are equal, or that differ.

The API promises (resource.k8s.io/v1, DeviceConstraint.matchAttribute): "MatchAttribute requires
that all devices in question have this attribute and that its type and value are the same across
those devices", and (DeviceConstraint.distinctAttribute) "that its type and value are unique across
those devices". Lists match if they have a value in common, and are distinct if they have none.

An allocation is wrong if its constraints do not hold for any versions of the devices up to it.
"""

import itertools
import math
from collections.abc import Sequence

from harness.checks.devices import allocation_judging, allocations, attributes, device_catalogue
from harness.checks.observed import observations, observed_claims

COMBINATIONS_MAX = 64
"""Combinations of versions of devices that are tried for one constraint."""
_UNCONSTRAINED = allocation_judging.Unjudged("the claim has no constraints", is_vacuous=True)
_CHANGED_OFTEN = allocation_judging.Unjudged(
    "the devices were changed too often to try all versions"
)


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
    covered = [result for result in results if _covers(constraint, result.request)]
    known = [catalogue.devices(result.id, version) for result in covered]
    if not all(known):
        return allocation_judging.UNKNOWN_DEVICE
    if math.prod(map(len, known)) > COMBINATIONS_MAX:
        return _CHANGED_OFTEN
    if any(_holds(constraint, chosen) for chosen in itertools.product(*known)):
        return None
    is_match = constraint.match_attribute is not None
    name = constraint.match_attribute or constraint.distinct_attribute
    devices = ", ".join(dict.fromkeys(result.id for result in covered))
    text = f"the attribute {name} must be {'the same' if is_match else 'different'} for {devices}"
    return allocation_judging.Wrong(text, weight=len(covered))


def _covers(constraint: observed_claims.Constraint, request: str) -> bool:
    listed = constraint.requests
    return not listed or request in listed or request.partition("/")[0] in listed


def _holds(
    constraint: observed_claims.Constraint, chosen: Sequence[device_catalogue.KnownDevice]
) -> bool:
    """Return whether a constraint holds; one of another kind than these two always does."""
    for name, agree in (
        (constraint.match_attribute, attributes.have_one_in_common),
        (constraint.distinct_attribute, attributes.are_disjoint),
    ):
        if name:
            found = [attributes.values_of(device, name) for device in chosen]
            return None not in found and agree([values for values in found if values is not None])
    return True


CHECK = allocation_judging.of_each(
    name="claim_constraints",
    guarantee="N",
    promise="the devices of a claim have the attributes that its constraints demand",
    good="all constraints hold",
    nothing="no claim with constraints was allocated",
    rests_on=(observations.SLICES,),
    ask=_ask,
)
