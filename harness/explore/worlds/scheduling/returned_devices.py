"""A device is given back by a claim that the waiting pod does not use."""

from collections.abc import Iterable

from harness.apiserver.scheme import resources
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.model.objects import Object

HOLDER = "claim-of-another"


class DeletedClaim(small_world.SmallWorld):
    """A claim without a finalizer holds the only device, and is deleted when all is at rest.

    Another client has allocated it. The pod that waits for the device must then get it.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with one device, the claim that has it, and the pod's claim."""
        yield from world_fixtures.one_node(1)
        held = world_fixtures.allocated("device-0")
        yield {**world_fixtures.claim(HOLDER), "status": held}
        yield world_fixtures.claim("claim-1")

    def begin(self) -> None:
        """Create the pod."""
        self.create(world_fixtures.pod("pod-1", "claim-1"))

    def go_on(self) -> bool:
        """Delete the claim that holds the device, once."""
        if not self.store.has(resources.CLAIMS, world_fixtures.NAMESPACE, HOLDER):
            return False
        self.store.delete(resources.CLAIMS, world_fixtures.NAMESPACE, HOLDER)
        return True


WORLDS: dict[str, world_specs.WorldSpec] = {
    "allocated-claim-deleted": world_specs.spec(
        DeletedClaim,
        "a claim without finalizer is deleted while a pod waits for its device",
        binders=(1, 1),
    ),
}
