"""Devices for the claims of rules: those that the driver has published, or those of --claim."""

import contextlib
import dataclasses
import fractions
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness import clocks, errors
from harness.client import apis
from harness.conformance import cluster_objects, driver_instances, options, results
from harness.model import quantities
from harness.model.objects import Object
from harness.subject.allocation import allocated_states, allocators, inventories

SHARES_MAX = 8
"""Claims at most that share one device here, if it has no capacity that limits them."""
_Amounts = dict[tuple[str, str, str], fractions.Fraction]
"""Pool, counter set, counter -> amount."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of the newest generation of its pool."""

    pool: str
    name: str
    is_shared: bool = False
    """Several claims may have it at a time."""
    capacity: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)
    """Capacity -> all that there is of it; empty unless it is shared."""
    share: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)
    """Capacity -> what a claim of the test asks for; empty unless it is shared."""
    allocation: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)
    """The allocation of --claim that has it first; empty: the test makes one up."""

    @property
    def places(self) -> int:
        """The number of claims that can have it at a time."""
        if self.allocation or not self.is_shared:
            return 1
        amount = quantities.amount
        parts = [(amount(self.capacity[name]), amount(part)) for name, part in self.share.items()]
        return max(1, min([SHARES_MAX, *(int(every // part) for every, part in parts if part)]))


def of_driver(slices: Iterable[Object], driver: str, node: str) -> list[Device]:
    """Return the devices of a driver that pods on a node can have at the same time.

    These are as many as fit beside each other, in their order, without tainted ones.
    """
    items = newest(slices)
    left: _Amounts = {}
    for item in items:
        for counters in item["spec"].get("sharedCounters") or ():
            left |= _amounts(item, counters["name"], counters["counters"])
    found = []
    for item in items:
        spec = item["spec"]
        is_here = spec["driver"] == driver and spec.get("nodeName") in (None, node)
        for device in (spec.get("devices") or ()) if is_here else ():
            consumed: _Amounts = {}
            for entry in device.get("consumesCounters") or ():
                consumed |= _amounts(item, entry["counterSet"], entry["counters"])
            fits = all(left.get(key, 0) >= amount for key, amount in consumed.items())
            if fits and not device.get("taints"):
                found.append(_device(spec["pool"]["name"], device))
                left |= {key: left[key] - amount for key, amount in consumed.items()}
    return found


def side_by_side(devices: Sequence[Device], count: int) -> list[Device]:
    """Return a device for each of up to `count` claims: each one, then further shares of them."""
    rounds = range(max((device.places for device in devices), default=0))
    return [device for number in rounds for device in devices if number < device.places][:count]


def newest(slices: Iterable[Object]) -> list[Object]:
    """Return the slices of the newest generation of each pool."""
    items = list(slices)
    last: dict[tuple[str, str], int] = {}
    for item in items:
        last[pool(item)] = max(last.get(pool(item), 0), generation(item))
    return [item for item in items if generation(item) == last[pool(item)]]


def pool(item: Object) -> tuple[str, str]:
    return item["spec"]["driver"], item["spec"]["pool"]["name"]


def generation(item: Object) -> int:
    return int(item["spec"]["pool"].get("generation") or 0)


def _amounts(item: Object, counter_set: str, counters: Mapping[str, Any]) -> _Amounts:
    return {
        (item["spec"]["pool"]["name"], counter_set, name): quantities.amount(str(counter["value"]))
        for name, counter in counters.items()
    }


def _device(pool_name: str, device: Mapping[str, Any]) -> Device:
    if not device.get("allowMultipleAllocations"):
        return Device(pool=pool_name, name=device["name"])
    capacity = device.get("capacity") or {}
    return Device(
        pool=pool_name,
        name=device["name"],
        is_shared=True,
        capacity={name: str(entry["value"]) for name, entry in capacity.items()},
        share={name: _least(entry) for name, entry in capacity.items()},
    )


def _least(entry: Mapping[str, Any]) -> str:
    """Return the least of a capacity that can be asked for; an eighth, whole, if there is none."""
    policy = entry.get("requestPolicy") or {}
    least = [*(policy.get("validValues") or ()), (policy.get("validRange") or {}).get("min")]
    known = [str(item) for item in (*least, policy.get("default")) if item]
    if known := [item for item in known if quantities.amount(item) > 0]:
        return min(known, key=quantities.amount)
    every = quantities.amount(str(entry["value"]))
    if every < 1:
        return str(entry["value"])
    return quantities.text(fractions.Fraction(every // SHARES_MAX or 1))


COUNT_MAX = 16
"""Claims of --claim at most that are allocated side by side."""
_SETTLE_S = 0.5
"""Time in which slices must not change before they count as published."""
Document = Mapping[str, Any]


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
            return of_driver(self.slices(), name, self._options.node)
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
        return side_by_side(self.every(), count)

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
    return [_stated({"config": made, **found}, driver)] if found.get("results") else []


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
        found.append(_stated(made[0]["devices"], driver))
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


def _stated(devices: Document, driver: str) -> Device:
    rows = devices["results"]
    row = next((row for row in rows if row["driver"] == driver), rows[0])
    return Device(
        pool=row["pool"],
        name=row["device"],
        is_shared=any("shareID" in row for row in rows),
        allocation=devices,
    )
