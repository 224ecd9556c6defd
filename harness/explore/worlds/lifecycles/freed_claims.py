"""The claim controller frees a claim, and the next pod gets it allocated at once."""

from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.explore.worlds.oracles import protocol, reservations

FIRST, NEXT = "pod-1", "pod-2"
PODS = (1, 2)


class FreedClaim(controlled_world.ControlledWorld):
    """The pod of a claim is deleted, so that the controller frees it, in two writes.

    The next pod comes between these: the claim has no allocation, but still its finalizer.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bound = concurrency.Event("bound")
        self._was_allocated = False

    def oracles(self) -> tuple[protocol.Oracle, ...]:
        """Return those of a world with a controller, and that of finalizers."""
        return (*super().oracles(), reservations.AllocationFinalizers())

    def begin(self) -> None:
        """Create the first pod, and start the other client."""
        self.store.listen(self._on_commit)
        self.create(world_fixtures.pod(FIRST, "claim-1"))
        concurrency.spawn("other-client", self._delete_first)

    def _delete_first(self) -> None:
        self._bound.wait()
        self.api.delete(apis.PODS, FIRST, namespace=world_fixtures.NAMESPACE, grace_period_s=0)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if world_fixtures.is_bound_pod(commit):
            self._bound.set()
        if commit.resource is resources.CLAIMS:
            is_allocated = b'"allocation"' in commit.object.data
            if self._was_allocated and not is_allocated:
                self._create_next()
            self._was_allocated = is_allocated

    def _create_next(self) -> None:
        if not self.store.has(resources.PODS, world_fixtures.NAMESPACE, NEXT):
            self.create(world_fixtures.pod(NEXT, "claim-1"))


class OverlookedFinalizer(controlled_world.ControlledWorld):
    """A user deletes a claim while the scheduler adds the finalizer and allocates it for a pod."""

    def oracles(self) -> tuple[protocol.Oracle, ...]:
        """Return that of finalizers first, because what comes of it is no one else's."""
        return (reservations.AllocationFinalizers(), *super().oracles())

    def begin(self) -> None:
        """Create the pod, and start the other client."""
        self.create(world_fixtures.pod(FIRST, "claim-1"))
        concurrency.spawn("other-client", self._delete_claim)

    def _delete_claim(self) -> None:
        with apis.if_there():
            self.api.delete(apis.CLAIMS, "claim-1", namespace=world_fixtures.NAMESPACE)


class FreedUnseen(controlled_world.ControlledWorld):
    """Two pods want one device; the one that gets it is deleted, and the controller frees it.

    A watch that has to list again may never show that the claim was allocated.
    """

    claim_count = 2

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bound: concurrency.Queue[str] = concurrency.Queue("bound")

    def begin(self) -> None:
        """Create the pods, and start the other client."""
        self.store.listen(self._on_commit)
        for number in PODS:
            self.create(world_fixtures.pod(f"pod-{number}", f"claim-{number}"))
        concurrency.spawn("other-client", self._delete_first)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if world_fixtures.is_bound_pod(commit):
            self._bound.put(commit.object.name)

    def _delete_first(self) -> None:
        name = self._bound.get()
        self.api.delete(apis.PODS, name, namespace=world_fixtures.NAMESPACE, grace_period_s=0)

    def unfinished(self) -> str | None:
        """Return whether the other pod waits, or the books are wrong."""
        return self.unbound() or self.differing_books()


WORLDS: dict[str, world_specs.WorldSpec] = {
    "claim-freed-and-taken": controlled_world.spec(
        FreedClaim, "the next pod takes a claim while the controller is freeing it", binders=(1, 1)
    ),
    "finalizer-overlooked": controlled_world.spec(
        OverlookedFinalizer,
        "H20: a claim is deleted as it was before it got its finalizer and an allocation",
        faults=("overlook-finalizers",),
        binders=(1, 1),
        faults_max=(1, 0),
    ),
    "freed-unseen": controlled_world.spec(
        FreedUnseen,
        "a claim is allocated and freed while the watch of claims is broken",
        faults=("expire-claim-watch",),
        binders=(1, 1),
        faults_max=(1, 0),
    ),
}
