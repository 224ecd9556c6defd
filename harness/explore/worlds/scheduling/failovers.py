"""Another scheduler takes over while the first is binding a pod."""

import functools
from collections.abc import Sequence
from typing import Any

from harness import concurrency
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, leftovers, reservations
from harness.explore.worlds.scheduling import competing_pods, extended_claims
from harness.model.objects import Object


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


class BoundLate(small_world.SmallWorld):
    """The first scheduler's binding of a pod is committed when another one has taken over.

    The successor has listed the pod before, and tries to bind it, too. One of the two fails,
    because the pod is bound, and its Unreserve takes back the reservation with which the pod runs.
    """

    device_count = 2
    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def begin(self) -> None:
        """Create the pod; the scheduler may be replaced at any time from now on."""
        self.create(self.pod())
        concurrency.spawn("failover", self._fail_over)

    def pod(self) -> Object:
        """Return the pod."""
        return world_fixtures.pod("pod-1", "claim-1")

    def _fail_over(self) -> None:
        self.runtime.point()
        self.schedulers[0].stop()
        self.start_successor()


class ExtendedBoundLate(BoundLate):
    """The same, with a pod that asks for an extended resource, and with the remedy for H3.

    The successor finds the claim that its predecessor has created, and deletes it in PostFilter.
    """

    def __init__(self, *args: Any, remedies: Sequence[str], **options: Any) -> None:
        super().__init__(*args, remedies=[*{*remedies, "fence-predecessor"}], **options)

    def pod(self) -> Object:
        """Return the pod, which does not use the claim."""
        return extended_claims.pod("pod-1")

    def unfinished(self) -> str | None:
        """Return whether the pod runs without its devices."""
        return leftovers.of_extended_pods(self.state())


class TakenBackLate(BoundLate):
    """The first scheduler fails to bind a pod, and another takes over while it cleans up.

    The pod names its claim twice. The first entry is allocated and reserved, the second one fails,
    because the claim has an allocation, and Unreserve takes the reservation back. Its patch carries
    no version. The successor lists the claim before the patch is committed, finds it reserved, and
    binds the pod.
    """

    def pod(self) -> Object:
        """Return the pod."""
        return world_fixtures.pod_naming_twice("pod-1", "claim-1")


WORLDS: dict[str, world_specs.WorldSpec] = {
    "failover": world_specs.spec(
        functools.partial(Failover, late_pods=1),
        "H3: another scheduler takes over while the first is binding a pod",
        **competing_pods.sizes(claims=2, devices=1, late_pods=1),
    ),
    "reservation-taken-back-late": world_specs.spec(
        TakenBackLate,
        "H18: a scheduler takes a reservation back after its successor has listed the claim",
        binders=(1, 1),
    ),
    "pod-bound-late": world_specs.spec(
        BoundLate,
        "H19: the binding of a pod is committed after another scheduler has listed the pod",
        binders=(1, 1),
    ),
    "extended-pod-bound-late": world_specs.spec(
        ExtendedBoundLate,
        "H19: the same with a pod that asks for an extended resource",
        binders=(1, 1),
    ),
}
