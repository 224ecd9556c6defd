"""Allocations of the claim that a user gives by --claim, as a scheduler writes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.conformance import results
from harness.conformance.drivers import cluster_objects, published_devices
from harness.subject.allocation import allocated_states, allocators, inventories

COUNT_MAX = 16
"""Claims at most that are allocated side by side."""
Document = Mapping[str, Any]


def stated(claim: Document, driver: str) -> list[published_devices.Device]:
    """Return a device that stands for the allocation in the status of a claim; none without one."""
    found = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
    config = (claim.get("spec") or {}).get("devices", {}).get("config") or ()
    made = [{"source": "FromClaim", **item} for item in config]
    return [_device({"config": made, **found}, driver)] if found.get("results") else []


def side_by_side(
    claim: Document,
    slices: Sequence[cluster_objects.Object],
    *,
    driver: str,
    classes: Mapping[str, cluster_objects.Object],
    default_class: str,
    node: cluster_objects.Object,
) -> list[published_devices.Device]:
    """Return a device for each claim of a kind that can be allocated beside the others.

    A class that is not there is as the default one. Raises Undecided if not even one can be, and
    HarnessError for a claim that no scheduler could allocate.
    """
    asked = {"metadata": {"name": "claim", "namespace": "", "uid": ""}, "spec": claim["spec"]}
    known = {name: classes.get(name, classes[default_class]) for name in _classes(claim["spec"])}
    snapshot, taken = inventories.snapshot_of(slices), allocated_states.AllocatedState()
    found: list[published_devices.Device] = []
    while len(found) < COUNT_MAX:
        allocated = allocators.Allocator(snapshot, taken, known, [asked]).allocate(node)
        if allocated is None:
            break
        taken.add(allocated[0])
        found.append(_device(allocated[0]["devices"], driver))
    if not found:
        raise results.Undecided(
            "no device that the driver has published is one for the requests of --claim: "
            "change them, or name an allocation in its status"
        )
    return found


def _classes(spec: Document) -> Iterator[str]:
    for request in (spec.get("devices") or {}).get("requests") or ():
        for option in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            yield (option or {}).get("deviceClassName") or ""


def _device(allocated: Document, driver: str) -> published_devices.Device:
    rows = allocated["results"]
    row = next((row for row in rows if row["driver"] == driver), rows[0])
    return published_devices.Device(
        pool=row["pool"],
        name=row["device"],
        is_shared=any("shareID" in row for row in rows),
        allocation=allocated,
    )
