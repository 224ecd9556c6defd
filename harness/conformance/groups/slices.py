"""Rules about the ResourceSlices that the driver publishes."""

import collections
import re
from collections.abc import Iterable

from harness import clocks, errors
from harness.conformance import allocations, benches, results
from harness.model.objects import Object

_EFFECTS = ("NoSchedule", "NoExecute", "None")
_KEY = re.compile(
    r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
_PUBLISHED_AGAIN_STARTS = 3.5
"""Times of --start: by default 70 s, since upstream's helper waits 30 s (DefaultSyncDelay), and
for a slice that it has made itself until it is a minute old (DefaultMutationCacheTTL)."""
Slices = list[Object]


def driver_name(bench: benches.Bench) -> None:
    results.skip_unless(bench.can_restart, "the API server may have slices of other drivers")
    for item in _slices(bench):
        driver = item["spec"]["driver"]
        results.require(
            driver == bench.name or bench.options.driver_name,
            f"{_named(item)} is of {driver}, and {bench.name} is registered",
        )


def node(bench: benches.Bench) -> None:
    for item in _slices(bench):
        spec = item["spec"]
        by_selector = any(map(spec.get, ("nodeSelector", "allNodes", "perDeviceNodeSelection")))
        results.require(
            by_selector or spec.get("nodeName") == bench.options.node,
            f"{_named(item)} names the node {spec.get('nodeName')!r}, not {bench.options.node}",
        )


def generation(bench: benches.Bench) -> None:
    items = _slices(bench)
    newest = allocations.newest(items)
    for item in items:
        results.require(
            item in newest,
            f"{_named(item)} has the generation {allocations.generation(item)}, "
            "and its pool has a newer one",
        )


def pool_complete(bench: benches.Bench) -> None:
    _require_complete(_slices(bench))


def no_device_twice(bench: benches.Bench) -> None:
    _require_no_device_twice(_slices(bench))


def taints(bench: benches.Bench) -> None:
    found = [
        (item, taint)
        for item in _slices(bench)
        for device in item["spec"].get("devices") or ()
        for taint in device.get("taints") or ()
    ]
    results.skip_unless(found, "no device has a taint")
    for item, taint in found:
        results.require(
            taint.get("effect") in _EFFECTS and _KEY.fullmatch(str(taint.get("key"))),
            f"{_named(item)} has a device with the taint {taint}",
        )


def owned_by_node(bench: benches.Bench) -> None:
    for item in _slices(bench):
        owners = item["metadata"].get("ownerReferences") or []
        if item["spec"].get("nodeName") and not any(o.get("kind") == "Node" for o in owners):
            raise results.Failed(f"{_named(item)} has no Node as owner")


def published_again(bench: benches.Bench) -> None:
    """A kubelet wipes the slices when it starts."""
    before = _devices(_slices(bench))
    bench.objects.remove_slices(bench.name)
    bench.instance.register()
    limit_s = _PUBLISHED_AGAIN_STARTS * bench.options.start_s
    try:
        clocks.wait_until(
            lambda: _devices(_of_driver(bench, bench.objects.slices())) == before,
            timeout_s=limit_s,
            why="slices",
        )
    except errors.WaitTimeoutError:
        if bench.can_restart:
            bench.restart()  # rules after this one need devices
        raise results.Failed(
            f"slices that were deleted are not there again after {limit_s:g} s"
        ) from None


def same_after_restart(bench: benches.Bench) -> None:
    before = _devices(_slices(bench))
    bench.restart()
    after = _slices(bench)
    _require_complete(after)
    _require_no_device_twice(after)
    results.require(
        _devices(after) == before,
        f"{len(before)} devices were published before a restart, and {len(_devices(after))} after it",
    )


def _slices(bench: benches.Bench) -> Slices:
    """Return the driver's slices. Raises Skipped if it publishes none."""
    found = _of_driver(bench, bench.devices.slices())
    results.skip_unless(found, "the driver publishes no ResourceSlices")
    return found


def _of_driver(bench: benches.Bench, items: Iterable[Object]) -> Slices:
    """Return the slices of the driver; all of them on an API server that has no other."""
    if bench.can_restart and not bench.options.driver_name:
        return list(items)
    return [item for item in items if item["spec"]["driver"] == bench.name]


def _devices(items: Iterable[Object]) -> list[tuple[str, str, str]]:
    return sorted(
        (*allocations.pool(item), device["name"])
        for item in allocations.newest(items)
        for device in item["spec"].get("devices") or ()
    )


def _require_complete(items: Slices) -> None:
    newest = allocations.newest(items)
    counts = collections.Counter(allocations.pool(item) for item in newest)
    for item in newest:
        pool = allocations.pool(item)
        expected = item["spec"]["pool"].get("resourceSliceCount")
        results.require(
            expected == counts[pool],
            f"pool {pool[1]} has {counts[pool]} slices of its newest generation, "
            f"and {_named(item)} says {expected}",
        )


def _require_no_device_twice(items: Slices) -> None:
    for device, count in collections.Counter(_devices(items)).items():
        results.require(count == 1, f"device {'/'.join(device)} is {count} times in the slices")


def _named(item: Object) -> str:
    return f"ResourceSlice {item['metadata']['name']}"
