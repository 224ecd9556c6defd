"""Worlds with a claim controller."""

import functools
from collections.abc import Callable, Sequence

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.client import apis
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import claim_entries, device_exclusivity, protocol, reservations
from harness.model.objects import Object
from harness.subject.claim_control import claim_controllers

WORKERS = 2
"""Number of the claim controller's workers."""
spec = functools.partial(world_specs.spec, private_locks=world_specs.contended(".objects"))
"""Spec of a world with a controller, whose workers read the objects of its informers."""


class ControlledWorld(small_world.SmallWorld):
    """A world with a claim controller beside the schedulers."""

    evicts = False
    """The controller evicts pods by taints of their devices."""
    judged_by: Sequence[Callable[[], protocol.Oracle]] = (
        device_exclusivity.DeviceExclusivity,
        reservations.Reservations,
        claim_entries.ClaimEntries,
    )

    def start(self) -> None:
        """Start the schedulers, then the others."""
        super().start()
        concurrency.spawn("start", self.start_others)
        self.runtime.run(explore=False)

    def start_others(self) -> None:
        """Create the template of claims, and start the claim controller."""
        self.create(self.new_template())
        chosen = claim_controllers.ControllerOptions(workers=WORKERS, evicts=self.evicts)
        api = apis.Api(self.server)
        claim_controllers.ClaimController(api, chosen, self.parts.controller).start()

    def new_template(self) -> Object:
        return world_fixtures.template()

    def finish(self, pod: str) -> None:
        """Let a pod finish, as its kubelet does, at once and without a fault."""
        self.store.patch(
            resources.PODS,
            world_fixtures.NAMESPACE,
            pod,
            world_fixtures.finished,
            subresource="status",
        )

    def without_claim(self) -> str | None:
        """Return which entry of a pod has no claim; None if none."""
        claims = list(self.documents(resources.CLAIMS))
        return claim_entries.missing(self.documents(resources.PODS), claims)
