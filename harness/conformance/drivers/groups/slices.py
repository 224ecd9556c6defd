"""Rules about the ResourceSlices that the driver publishes."""

import collections
import re
from collections.abc import Iterable

from harness import clocks, errors
from harness.conformance import results
from harness.conformance.drivers import benches, cluster_objects, published_devices

_EFFECTS = ("NoSchedule", "NoExecute", "None")
_KEY = re.compile(
    r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
_PUBLISHED_AGAIN_STARTS = 3.5
"""Times of --start: by default 70 s, since upstream's helper waits 30 s (DefaultSyncDelay), and
for a slice that it has made itself until it is a minute old (DefaultMutationCacheTTL)."""
Slices = list[cluster_objects.Object]


def driver_name(bench: benches.Bench) -> None:
    """All slices of this API server are the driver's: it has no other."""
    if not bench.can_restart:
        raise results.Skipped("the API server may have slices of other drivers")
    for item in _slices(bench):
        if item["spec"]["driver"] != bench.name and not bench.options.driver_name:
            raise results.Failed(
                f"{_named(item)} is of {item['spec']['driver']}, and {bench.name} is registered"
            )


def node(bench: benches.Bench) -> None:
    """Other nodes are named only by those who manage devices of all nodes."""
    for item in _slices(bench):
        spec = item["spec"]
        by_selector = any(map(spec.get, ("nodeSelector", "allNodes", "perDeviceNodeSelection")))
        if not by_selector and spec.get("nodeName") != bench.options.node:
            raise results.Failed(
                f"{_named(item)} names the node {spec.get('nodeName')!r}, not {bench.options.node}"
            )


def generation(bench: benches.Bench) -> None:
    """Slices of an older generation are left from before, and are to be deleted."""
    items = _slices(bench)
    newest = published_devices.newest(items)
    for item in items:
        if item not in newest:
            raise results.Failed(
                f"{_named(item)} has the generation {published_devices.generation(item)}, "
                "and its pool has a newer one"
            )


def pool_complete(bench: benches.Bench) -> None:
    """The count that slices carry is the number of slices of their generation."""
    _require_complete(_slices(bench))


def no_device_twice(bench: benches.Bench) -> None:
    """A device is known by driver, pool and name."""
    _require_no_device_twice(_slices(bench))


def taints(bench: benches.Bench) -> None:
    """Keys are as those of labels."""
    found = [
        (item, taint)
        for item in _slices(bench)
        for device in item["spec"].get("devices") or ()
        for taint in device.get("taints") or ()
    ]
    if not found:
        raise results.Skipped("no device has a taint")
    for item, taint in found:
        if taint.get("effect") not in _EFFECTS or not _KEY.fullmatch(str(taint.get("key"))):
            raise results.Failed(f"{_named(item)} has a device with the taint {taint}")


def owned_by_node(bench: benches.Bench) -> None:
    """Garbage collection removes slices with their owner."""
    for item in _slices(bench):
        owners = item["metadata"].get("ownerReferences") or []
        if item["spec"].get("nodeName") and not any(o.get("kind") == "Node" for o in owners):
            raise results.Failed(f"{_named(item)} has no Node as owner")


def published_again(bench: benches.Bench) -> None:
    """A kubelet wipes the slices when it starts."""
    before = _devices(_slices(bench))
    bench.objects.remove_slices(bench.name)
    bench.kubelet_restarts()
    limit_s = _PUBLISHED_AGAIN_STARTS * bench.options.limits.start_s
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
    """A new process finds the slices of the one before."""
    before = _devices(_slices(bench))
    bench.restart()
    after = _slices(bench)
    _require_complete(after)
    _require_no_device_twice(after)
    if _devices(after) != before:
        raise results.Failed(
            f"{len(before)} devices were published before a restart, and {len(_devices(after))} after it"
        )


def _slices(bench: benches.Bench) -> Slices:
    """Return the driver's slices. Raises Skipped if it publishes none."""
    found = _of_driver(bench, bench.slices())
    if not found:
        raise results.Skipped("the driver publishes no ResourceSlices")
    return found


def _of_driver(bench: benches.Bench, items: Iterable[cluster_objects.Object]) -> Slices:
    """Return the slices of the driver; all of them on an API server that has no other."""
    if bench.can_restart and not bench.options.driver_name:
        return list(items)
    return [item for item in items if item["spec"]["driver"] == bench.name]


def _devices(items: Iterable[cluster_objects.Object]) -> list[tuple[str, str, str]]:
    return sorted(
        (*published_devices.pool(item), device["name"])
        for item in published_devices.newest(items)
        for device in item["spec"].get("devices") or ()
    )


def _require_complete(items: Slices) -> None:
    newest = published_devices.newest(items)
    counts = collections.Counter(published_devices.pool(item) for item in newest)
    for item in newest:
        pool = published_devices.pool(item)
        expected = item["spec"]["pool"].get("resourceSliceCount")
        if expected != counts[pool]:
            raise results.Failed(
                f"pool {pool[1]} has {counts[pool]} slices of its newest generation, "
                f"and {_named(item)} says {expected}"
            )


def _require_no_device_twice(items: Slices) -> None:
    for device, count in collections.Counter(_devices(items)).items():
        if count > 1:
            raise results.Failed(f"device {'/'.join(device)} is {count} times in the slices")


def _named(item: cluster_objects.Object) -> str:
    return f"ResourceSlice {item['metadata']['name']}"
