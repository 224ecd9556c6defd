"""Claims for parts of one device, and nodes that several threads filter for one pod."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import (
    asked_devices,
    device_exclusivity,
    device_shares,
    reservations,
)
from harness.explore.worlds.scheduling import competing_pods
from harness.model.objects import Object
from harness.subject.scheduling import node_search, schedulers


class FilterThreads(small_world.SmallWorld):
    """Nodes with one device each, and as many pods; each attempt filters on several threads."""

    judged_by = (
        device_exclusivity.DeviceExclusivity,
        asked_devices.AskedDevices,
        reservations.Reservations,
    )

    def objects(self) -> Iterable[Object]:
        """Return the nodes with their devices, and the claims."""
        yield world_fixtures.device_class()
        for index in range(self.sizes["nodes"]):
            yield world_fixtures.node(f"worker-{index}")
            yield world_fixtures.pool(world_fixtures.devices(1), name=f"worker-{index}")
        for index in range(self.sizes["nodes"]):
            yield world_fixtures.claim(f"claim-{index + 1}")

    def scheduler_options(self, name: str) -> schedulers.SchedulerOptions:
        search = node_search.SearchOptions(parallelism=self.sizes["threads"])
        return dataclasses.replace(super().scheduler_options(name), search=search)

    def begin(self) -> None:
        """Create the pods."""
        for index in range(self.sizes["nodes"]):
            self.create(world_fixtures.pod(f"pod-{index + 1}", f"claim-{index + 1}"))


TOTAL, PART = 10, 4
"""The memory of the device, and what each claim takes of it: two claims fit, a third does not."""
FITTING = TOTAL // PART
_SET = "whole"
"""Name of the set of counters."""


class PartsOfOneDevice(competing_pods.CompetingPods):
    """Pods whose claims are each for a part of the same device; a third one is too many."""

    judged_by = (device_exclusivity.DeviceExclusivity, device_shares.DeviceShares)

    def bound_expected(self) -> int:
        """Return how many pods fit."""
        return min(self.sizes["claims"], FITTING)


class SharesOfOneDevice(PartsOfOneDevice):
    """Every claim takes a share of the capacity of one device."""

    def objects(self) -> Iterable[Object]:
        """Return a node with one device that may be allocated several times, and the claims."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        yield world_fixtures.pool([_shared_device()])
        wanted = {"requests": {"memory": str(PART)}}
        for index in range(self.sizes["claims"]):
            yield world_fixtures.claim(f"claim-{index + 1}", capacity=wanted)


class PartitionsOfOneDevice(PartsOfOneDevice):
    """Every claim takes a partition; all partitions consume the counters of one device."""

    def objects(self) -> Iterable[Object]:
        """Return a node with more partitions than can be used at once, and the claims."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        pool = {"name": world_fixtures.NODE, "generation": 1, "resourceSliceCount": 2}
        counters = world_fixtures.pool(
            [], slice_name="counters", pool=pool, sharedCounters=[_counters("", TOTAL)]
        )
        del counters["spec"]["devices"]
        yield counters
        partitions = [
            {**device, "consumesCounters": [_counters("counterSet", PART)]}
            for device in world_fixtures.devices(self.sizes["claims"])
        ]
        yield world_fixtures.pool(partitions, pool=pool)
        for index in range(self.sizes["claims"]):
            yield world_fixtures.claim(f"claim-{index + 1}")


def _shared_device() -> Object:
    return {
        "name": "device-0",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": str(TOTAL)}},
    }


def _counters(key: str, memory: int) -> Object:
    """Return counters of the set, which `key` names: as declared, or as consumed."""
    return {key or "name": _SET, "counters": {"memory": {"value": str(memory)}}}


def _sizes() -> dict[str, Any]:
    return {"claims": (3, 2), "binders": world_specs.ANY_BINDERS}


WORLDS: dict[str, world_specs.WorldSpec] = {
    "shares-of-one-device": world_specs.spec(
        SharesOfOneDevice,
        "three claims for shares of one device, whose capacity is enough for two",
        **_sizes(),
    ),
    "partitions-of-one-device": world_specs.spec(
        PartitionsOfOneDevice,
        "three claims for partitions of one device, whose counters are enough for two",
        **_sizes(),
    ),
    "filter-threads": world_specs.spec(
        FilterThreads,
        "two threads filter the nodes for each pod",
        private_locks=world_specs.contended("attempt"),
        nodes=(2, 2),
        threads=(2, 1),
        binders=world_specs.ANY_BINDERS,
    ),
}
