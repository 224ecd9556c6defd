"""Another scheduler takes over while the first is binding a pod."""

import functools

from harness import concurrency
from harness.explore.worlds import world_specs
from harness.explore.worlds.scheduling import competing_pods


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
        """Replace the scheduler, as when a leader loses its lease.

        The old one takes no new pod but continues what it has begun; the new one starts from a
        list.
        """
        self.written.wait()
        first = self.schedulers[0]
        first.stop()
        self.create_late_pods()
        successor = self.new_scheduler(self.scheduler_names()[0])
        self.schedulers[:] = [successor]
        successor.start()


WORLDS: dict[str, world_specs.WorldSpec] = {
    "failover": world_specs.WorldSpec(
        title="H3: another scheduler takes over while the first is binding a pod",
        make=functools.partial(Failover, late_pods=1),
        sizes=competing_pods.sizes(claims=2, devices=1, late_pods=1),
        hazard=world_specs.Hazard("H3", remedy="fence-predecessor"),
    ),
}
