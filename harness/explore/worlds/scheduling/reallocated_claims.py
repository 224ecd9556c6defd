"""Another writer moves the first claim to another device, in two writes."""

import functools

from harness import concurrency
from harness.client import apis
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.scheduling import competing_pods


class ReallocatedClaim(competing_pods.CompetingPods):
    """The first claim gets the last device; the late pods are created when all is at rest."""

    def begin(self) -> None:
        """Create the first pods, and prepare the other writer."""
        super().begin()
        concurrency.spawn("other-writer", self._reallocate)

    def on_allocated(self) -> None:
        """Do nothing: the late pods come when all is at rest."""

    def _reallocate(self) -> None:
        """Free the device of the first claim and allocate the last device to it.

        Another scheduler might do so.
        """
        self.allocated.wait()
        claim = self.api.get(apis.CLAIMS, "claim-1", namespace=world_fixtures.NAMESPACE)
        results = claim["status"]["allocation"]["devices"]["results"]
        freed = self.api.update_status(apis.CLAIMS, {**claim, "status": {}})
        last = [{**results[0], "device": f"device-{self.sizes['devices'] - 1}"}]
        status = {"allocation": {"devices": {"results": last}}}
        self.api.update_status(apis.CLAIMS, {**freed, "status": status})


WORLDS: dict[str, world_specs.WorldSpec] = {
    "reallocated-unseen": world_specs.spec(
        functools.partial(ReallocatedClaim, late_pods=1),
        "H2: another writer changes an allocation while the watch is broken",
        faults=competing_pods.WATCHES,
        **competing_pods.sizes(claims=2, devices=2, late_pods=1, faults_max=(1, 0)),
    ),
}
