"""PostFilter frees the allocation of a claim that another pod is about to reserve."""

from collections.abc import Iterable

from harness.apiserver.scheme import resources
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, reservations
from harness.model.objects import Object

CLAIM, NODES = "claim-1", ("worker-0", "worker-1")


class FreedAllocation(small_world.SmallWorld):
    """A claim has a device of the first node, and no reservation.

    Every other pod can run on the second node only: PostFilter frees the allocation for it. The
    others can run on the first node only: they reserve the claim. The pods of one node get it.
    """

    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def objects(self) -> Iterable[Object]:
        """Return two nodes with a device each, and the allocated claim."""
        yield world_fixtures.device_class()
        for name in NODES:
            yield world_fixtures.node(name)
            yield world_fixtures.pool(world_fixtures.devices(1), name=name)
        claim = world_fixtures.claim(CLAIM)
        yield {**claim, "status": world_fixtures.allocated("device-0", node_name=NODES[0])}

    def begin(self) -> None:
        """Create the pods."""
        for index in range(self.sizes["pods"]):
            node = NODES[index % len(NODES)]
            self.create(world_fixtures.pod(f"pod-{index + 1}", CLAIM, nodeSelector={"node": node}))

    def unfinished(self) -> str | None:
        """Return whether the pods of no node, or of two, are bound, or whether books are wrong."""
        wanted: dict[str, set[bool]] = {name: set() for name in NODES}
        for pod in self.documents(resources.PODS):
            wanted[pod["spec"]["nodeSelector"]["node"]].add("nodeName" in pod["spec"])
        if sorted(wanted.values(), key=str) != [{False}, {True}]:
            return f"stuck: expected the pods of one node to be bound, got {wanted}"
        return self.differing_books()


class UnfreedAllocation(FreedAllocation):
    """The only pod can run on the second node, and the write that frees the claim for it fails.

    No event that follows helps the pod: it is the annotation of another client, or there is none.
    """

    def begin(self) -> None:
        """Create the pod."""
        self.create(world_fixtures.pod("pod-1", CLAIM, nodeSelector={"node": NODES[1]}))

    def spared_writes(self) -> str:
        """Return the path of bindings, which are another hazard."""
        return "/binding"

    def unfinished(self) -> str | None:
        """Return whether the pod waits, or the books are wrong."""
        return self.unbound() or self.differing_books()


WORLDS: dict[str, world_specs.WorldSpec] = {
    "allocation-freed-for-another-pod": world_specs.spec(
        FreedAllocation,
        "PostFilter frees the allocation of a claim that other pods reserve",
        pods=(2, 2),
        binders=world_specs.ANY_BINDERS,
    ),
    "allocation-not-freed": world_specs.spec(
        UnfreedAllocation,
        "H15: the write with which PostFilter frees an allocation fails",
        faults=("touch-objects", "lose-request"),
        binders=(1, 1),
        faults_max=(1, 0),
    ),
}
