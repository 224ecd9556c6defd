"""Several threads filter the nodes for one pod."""

import dataclasses
from collections.abc import Iterable

from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import (
    asked_devices,
    device_exclusivity,
    reservations,
)
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
        """Return the options of a scheduler with several Filter threads."""
        search = node_search.SearchOptions(parallelism=self.sizes["threads"])
        return dataclasses.replace(super().scheduler_options(name), search=search)

    def begin(self) -> None:
        """Create the pods."""
        for index in range(self.sizes["nodes"]):
            self.create(world_fixtures.pod(f"pod-{index + 1}", f"claim-{index + 1}"))


WORLDS: dict[str, world_specs.WorldSpec] = {
    "filter-threads": world_specs.spec(
        FilterThreads,
        "two threads filter the nodes for each pod",
        private_locks=world_specs.contended("attempt"),
        nodes=(2, 2),
        threads=(2, 1),
        binders=world_specs.ANY_BINDERS,
    ),
}
