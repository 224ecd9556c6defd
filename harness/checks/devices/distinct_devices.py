"""The check of devices within a claim: none is allocated twice, except in shares of it.

The API promises that a device can be allocated more than once only "if AllowMultipleAllocations is
set to true" (resource.k8s.io/v1, Device.allowMultipleAllocations), and that each of its shares has
an ID of its own: "ShareID uniquely identifies an individual allocation share of the device"
(DeviceRequestAllocationResult.shareID). `device_exclusivity` compares claims with each other; this
check compares the results of one claim. With admin access, too, a claim gets a device only once
(kubernetes#131269).
"""

import collections

from harness.checks.devices import allocation_judging, allocations
from harness.checks.observed import observed_claims


def _ask(grant: allocations.Grant) -> allocation_judging.Wrong | None:
    if len(grant.results) < 2:
        return None
    by_device: dict[str, list[observed_claims.AllocationResult]] = collections.defaultdict(list)
    for result in grant.results:
        by_device[result.id].append(result)
    return allocation_judging.wrong(
        f"{device} was given to it {len(items)} times, for "
        + " and ".join(f"request {item.request}" for item in items)
        for device, items in by_device.items()
        if _is_double(items)
    )


def _is_double(items: list[observed_claims.AllocationResult]) -> bool:
    shares = {item.share for item in items if item.share and not item.admin_access}
    return len(items) > 1 and len(shares) < len(items)


CHECK = allocation_judging.of_each(
    name="distinct_devices",
    guarantee="X",
    promise="no device is allocated twice to one claim, except in shares with different IDs",
    good="no claim has a device twice",
    ask=lambda grant, *_: _ask(grant),
)
