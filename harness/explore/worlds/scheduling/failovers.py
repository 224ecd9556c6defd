"""Another scheduler takes over while the first is binding a pod."""

import functools
from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, panels, reservations
from harness.explore.worlds.scheduling import competing_pods

Object = dict[str, Any]


class Failover(competing_pods.CompetingPods):
    """The scheduler is stopped after its first write of a binding, and another takes over.

    The late pods are created at that moment.
    """

    def begin(self) -> None:
        """Create the first pods, and prepare the failover."""
        super().begin()
        concurrency.spawn("failover", self._fail_over)

    def on_allocated(self) -> None:
        """Do nothing: the late pods come with the failover."""

    def _fail_over(self) -> None:
        """Replace the scheduler, as when a leader loses its lease."""
        self.written.wait()
        self.schedulers[0].stop()
        self.create_late_pods()
        self.start_successor()


class TakenBackLate(small_world.SmallWorld):
    """The first scheduler fails to bind a pod, and another takes over while it cleans up.

    The pod names its claim twice. The first entry is allocated and reserved, the second one fails,
    because the claim has an allocation, and Unreserve takes the reservation back. Its patch carries
    no version. The successor lists the claim before the patch is committed, finds it reserved, and
    binds the pod.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with a device for each entry, and the claim."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        yield world_fixtures.pool(world_fixtures.devices(2))
        yield world_fixtures.claim("claim-1")

    def oracles(self) -> Iterable[panels.Oracle]:
        """Return those of devices and reservations."""
        return device_exclusivity.DeviceExclusivity(), reservations.Reservations()

    def begin(self) -> None:
        """Create the pod; the scheduler may be replaced at any time from now on."""
        self.create(world_fixtures.pod_naming_twice("pod-1", "claim-1"))
        concurrency.spawn("failover", self._fail_over)

    def _fail_over(self) -> None:
        self.runtime.point()
        self.schedulers[0].stop()
        self.start_successor()


WORLDS: dict[str, world_specs.WorldSpec] = {
    "failover": world_specs.WorldSpec(
        title="H3: another scheduler takes over while the first is binding a pod",
        make=functools.partial(Failover, late_pods=1),
        sizes=competing_pods.sizes(claims=2, devices=1, late_pods=1),
        hazard=world_specs.Hazard("H3", remedy="fence-predecessor"),
    ),
    "reservation-taken-back-late": world_specs.WorldSpec(
        title="H18: a scheduler takes a reservation back after its successor has listed the claim",
        make=TakenBackLate,
        sizes={"binders": world_specs.Size(1, 1)},
        hazard=world_specs.Hazard("H18", remedy="fence-predecessor"),
    ),
}
