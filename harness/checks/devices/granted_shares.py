"""The check of shares: which devices are shared, and how much of their capacities is consumed.

The API promises (resource.k8s.io/v1, DeviceRequestAllocationResult): a share ID is "used when the
device supports multiple simultaneous allocations" (shareID); consumed capacity "is populated only
for devices that allow multiple allocations. All capacity entries are included", and "it is rounded
up to the nearest valid value based on the device's requestPolicy" (consumedCapacity). So it is
computed from the request and the slice (`request_amounts`), and compared. A request for capacity is
"an additional filtering condition against the available capacity on the device"
(CapacityRequirements.requests), for devices that cannot be shared, too. Sums over all shares of a
device are judged by `device_consumption`.

A result is wrong if it is so with every version of the device up to the allocation. With admin
access, which consumes nothing, share and consumed capacity may be missing.
"""

from collections.abc import Iterator

from harness.checks import request_amounts
from harness.checks.devices import allocation_judging, allocations, device_catalogue
from harness.checks.observed import observations, observed_claims
from harness.model import quantities


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Wrong | None:
    wrong = []
    for result in grant.results:
        asked = grant.spec.option(result.request)
        known = allocation_judging.known(result.id, catalogue, version)
        try:
            problems = [_problem(result, asked, device) for device in known]
        except (quantities.QuantityError, request_amounts.AmbiguousNamesError) as error:
            raise allocation_judging.Unjudged(str(error)) from error
        if all(problems):
            wrong.append(f"{result.id} {problems[-1]}")
    return allocation_judging.wrong(wrong)


def _problem(
    result: observed_claims.AllocationResult,
    asked: observed_claims.ExactRequest | None,
    known: device_catalogue.KnownDevice,
) -> str:
    """Return what is wrong with a result and a version of its device; empty: nothing.

    Raises QuantityError for a malformed quantity, or AmbiguousNamesError.
    """
    is_shareable = bool(known.device.allow_multiple_allocations)
    if result.share and not is_shareable:
        return "was allocated in a share, but no slice offers it for sharing"
    if result.consumed_capacity and not result.share:
        return "was allocated with consumed capacity, but not in a share"
    if is_shareable and not result.share and not result.admin_access:
        return "can be shared, but was allocated without a share ID"
    return "" if asked is None else next(_of_amounts(result, asked, known), "")


def _of_amounts(
    result: observed_claims.AllocationResult,
    asked: observed_claims.ExactRequest,
    known: device_catalogue.KnownDevice,
) -> Iterator[str]:
    driver = known.driver
    takes = request_amounts.of_device(known.device, driver, asked.quantities)
    for name, text in request_amounts.by_plain_name(asked.quantities, driver).items():
        if name not in takes:
            yield f"lacks the capacity {name}, of which {text} was asked for"
        elif takes[name].refusal:
            yield f"cannot be allocated: of {name}, the request {takes[name].refusal}"
    if not result.share or (result.admin_access and not result.consumed_capacity):
        return
    consumed = request_amounts.by_plain_name(result.consumed_capacity or {}, driver)
    for name in sorted(consumed.keys() - takes.keys()):
        yield f"consumes {name}, a capacity that it lacks"
    for name, taken in takes.items():
        expected = " or ".join(map(quantities.text, sorted(taken.amounts)))
        if taken.refusal:
            yield f"cannot be allocated: of {name}, the request {taken.refusal}"
        elif name not in consumed:
            yield f"consumes no {name} instead of {expected}"
        elif quantities.amount(consumed[name]) not in taken.amounts:
            yield f"consumes {consumed[name]} {name} instead of {expected}"


CHECK = allocation_judging.of_each(
    name="granted_shares",
    guarantee="N",
    promise=(
        "devices that can be shared, and no others, are shared, and as much is consumed as follows"
    ),
    good="all shares are of devices that can be shared, and consume what they should",
    rests_on=(observations.SLICES,),
    ask=_ask,
)
