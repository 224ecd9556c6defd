"""The check of shares: only devices that slices offer for sharing are shared, and enough of them.

The API promises (resource.k8s.io/v1, DeviceRequestAllocationResult): a share ID is "used when the
device supports multiple simultaneous allocations" (shareID); consumed capacity "is populated only
for devices that allow multiple allocations", and it "may not be less than the requested amount"
(consumedCapacity). Sums over all shares of a device are judged by `device_consumption`.

A result is wrong if it is so with every version of the device up to the allocation.
"""

from collections.abc import Iterator, Mapping

from harness.checks import verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    device_catalogue,
    request_options,
)
from harness.checks.observed import observations, observed_claims
from harness.model import quantities

NAME = "granted_shares"
PROMISE = "shares are only of devices that can be shared, and not smaller than what was asked for"
_GUARANTEE = allocation_judging.Guarantee(
    name=NAME,
    promise=PROMISE,
    good="all shares are of devices that can be shared, and large enough",
)
applies = allocation_judging.applies


def check(questions: allocation_judging.Questions) -> verdicts.Answer:
    """Return INVALID with the wrong shares; NotExamined if there is nothing."""
    return allocation_judging.judge(_GUARANTEE, questions, _ask, rests_on=[observations.SLICES])


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Answer:
    options = request_options.by_name(grant.spec)
    wrong = []
    for result in grant.results:
        known = catalogue.devices(result.id, version)
        if not known:
            return allocation_judging.UNKNOWN_DEVICE
        option = options.get(result.request)
        try:
            problems = [_problem(result, option, device) for device in known]
        except quantities.QuantityError as error:
            return allocation_judging.Unjudged(str(error))
        if all(problems):
            wrong.append(f"{result.id} {problems[-1]}")
    return allocation_judging.Wrong("; ".join(wrong), weight=len(wrong)) if wrong else None


def _problem(
    result: observed_claims.AllocationResult,
    option: request_options.Option | None,
    device: device_catalogue.KnownDevice,
) -> str:
    """Return what is wrong with a result and a version of its device; empty: nothing.

    Raises QuantityError for a malformed quantity.
    """
    consumed = _plain(result.consumed_capacity or {}, device.driver)
    if consumed and not result.share:
        return "was allocated with consumed capacity, but not in a share"
    if not result.share:
        return ""
    if not device.device.allow_multiple_allocations:
        return "was allocated in a share, but no slice offers it for sharing"
    offered = {name: item.value for name, item in (device.device.capacity or {}).items()}
    wanted = _plain(option.capacity if option else {}, device.driver)
    return next(_of_amounts(consumed, _plain(offered, device.driver), wanted), "")


def _of_amounts(
    consumed: Mapping[str, str], offered: Mapping[str, str], wanted: Mapping[str, str]
) -> Iterator[str]:
    for name, text in consumed.items():
        if name not in offered:
            yield f"consumes {name}, a capacity that it lacks"
        elif quantities.amount(text) > quantities.amount(offered[name]):
            yield f"consumes {text} of its {offered[name]} {name}"
    for name, text in wanted.items():
        if name not in consumed:
            yield f"consumes no {name}, of which {text} was asked for"
        elif quantities.amount(consumed[name]) < quantities.amount(text):
            yield f"consumes {consumed[name]} {name}, but {text} was asked for"


def _plain(named: Mapping[str, str], driver: str) -> dict[str, str]:
    """Return capacities by their names without the domain of the driver."""
    return {name.removeprefix(f"{driver}/"): value for name, value in named.items()}
