"""Devices for the claims of rules: those that the driver has published, or those of --claim."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import clocks, errors
from harness.client import apis
from harness.conformance import (
    cluster_objects,
    driver_instances,
    options,
    published_devices,
    results,
)
from harness.model.objects import Object
from harness.subject.allocation import allocated_states, allocators, inventories

COUNT_MAX = 16
"""Claims of --claim at most that are allocated side by side."""
_SETTLE_S = 0.5
"""Time in which slices must not change before they count as published."""
Document = Mapping[str, Any]
Device = published_devices.Device


class Devices:
    """The devices for the claims of rules."""

    def __init__(
        self,
        chosen: options.Options,
        objects: cluster_objects.ClusterObjects,
        instance: driver_instances.Instance,
    ) -> None:
        self._options, self._objects, self._instance = chosen, objects, instance
        self._slices: list[Object] = []
        self._given: list[Device] = []

    def forget(self) -> None:
        """Forget the slices: the driver is started again."""
        self._slices = []

    def slices(self) -> list[Object]:
        """Return the ResourceSlices once they have stopped to change; none is possible.

        They are read once for each start of the driver.
        """
        before: list[Object] = []

        def are_settled() -> bool:
            found = sorted(self._objects.slices(), key=lambda item: str(item["metadata"]["name"]))
            is_same, before[:] = bool(found) and found == before, found
            return is_same

        if not self._slices:
            limit_s = self._options.start_s
            with contextlib.suppress(errors.WaitTimeoutError):
                clocks.wait_until(
                    are_settled, timeout_s=limit_s, why="slices", interval_s=_SETTLE_S
                )
            self._slices = before
        return self._slices

    def every(self) -> list[Device]:
        """Return all devices that can be allocated at the same time, or those of --claim."""
        claim, name = self._options.claim, self._instance.info.name
        if found := stated(claim, name):
            return found
        if not claim.get("spec"):
            return published_devices.of_driver(self.slices(), name, self._options.node)
        if not self._given:
            default = self._objects.class_of(name)
            self._given = allocated(
                claim,
                self.slices(),
                driver=name,
                default_class=default,
                classes=self._objects.classes(),
                node=self._objects.api.get(apis.NODES, self._options.node),
            )
        return self._given

    def up_to(self, count: int) -> list[Device]:
        """Return a device for each of as many claims, or fewer; a shared one for several."""
        return published_devices.side_by_side(self.every(), count)

    def first(self, count: int = 1) -> list[Device]:
        """Return devices that can be allocated at the same time. Raises Skipped for too many."""
        found = self.up_to(count)
        if not found:
            raise results.Undecided(
                f"the driver has published no device for {self._options.node} that a claim could "
                "have: name an allocation by --claim"
            )
        if len(found) < count:
            raise results.Skipped(
                f"{count} devices are needed at a time, and the driver has published {len(found)}"
            )
        return found

    def sets(self, count: int) -> list[tuple[Device, ...]]:
        """Return devices for each of as many claims, or fewer: two for one if there are three.

        Raises Skipped if there are not enough for two claims.
        """
        self.first(2)
        found = self.up_to(2 * count)
        count = min(count, max(2, len(found) - 1))
        return [tuple(dict.fromkeys(found[number::count])) for number in range(count)]

    def exclusive(self) -> list[Device]:
        found = [device for device in self.every() if not device.is_shared]
        results.skip_unless(found, "the driver has published no device for one claim alone")
        return found


def stated(claim: Document, driver: str) -> list[Device]:
    """Return a device that stands for the allocation in the status of a claim; none without one."""
    found = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
    config = (claim.get("spec") or {}).get("devices", {}).get("config") or ()
    made = [{"source": "FromClaim", **item} for item in config]
    return [_device({"config": made, **found}, driver)] if found.get("results") else []


def allocated(
    claim: Document,
    slices: Sequence[Object],
    *,
    driver: str,
    classes: Mapping[str, Object],
    default_class: str,
    node: Object,
) -> list[Device]:
    """Return a device for each claim of a kind that a scheduler can allocate beside the others.

    A class that is not there is as the default one. Raises Undecided if not even one can be, and
    HarnessError for a claim that no scheduler could allocate.
    """
    asked = {"metadata": {"name": "claim", "namespace": "", "uid": ""}, "spec": claim["spec"]}
    known = {name: classes.get(name, classes[default_class]) for name in _classes(claim["spec"])}
    snapshot, taken = inventories.snapshot_of(slices), allocated_states.AllocatedState()
    found: list[Device] = []
    while len(found) < COUNT_MAX:
        made = allocators.Allocator(snapshot, taken, known, [asked]).allocate(node)
        if made is None:
            break
        taken.add(made[0])
        found.append(_device(made[0]["devices"], driver))
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


def _device(devices: Document, driver: str) -> Device:
    rows = devices["results"]
    row = next((row for row in rows if row["driver"] == driver), rows[0])
    return Device(
        pool=row["pool"],
        name=row["device"],
        is_shared=any("shareID" in row for row in rows),
        allocation=devices,
    )
