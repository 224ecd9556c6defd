"""PreBind of a pod with two claims fails after the first of them was written."""

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import small_world, world_fixtures, world_specs

FIRST, SECOND, SPARE = "claim-1", "claim-2", "claim-3"
_DEVICES = 3
"""One for each claim, so that every pod can be bound whatever is left over."""


class SecondClaimDeleted(small_world.SmallWorld):
    """A pod has two claims. When the first is allocated, a user deletes the second.

    PreBind may find the second claim gone, so that Unreserve has to undo the pod, whose first claim
    keeps its allocation. Another pod, with a claim of its own, is created then; it needs a device.
    """

    device_count, claim_count = _DEVICES, 3

    def __init__(self, *arguments: object, **options: object) -> None:
        self._allocated = concurrency.Event("allocated")
        """Set once the first claim has been allocated."""
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def begin(self) -> None:
        """Create the pod, and start the user who deletes its second claim."""
        self.store.listen(self._on_commit)
        entries = [{"name": name, "resourceClaimName": name} for name in (FIRST, SECOND)]
        self.create(world_fixtures.pod("pod-1", "", resourceClaims=entries))
        concurrency.spawn("other-user", self._delete)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        is_first = commit.resource is resources.CLAIMS and commit.object.name == FIRST
        if is_first and b'"allocation"' in commit.object.data:
            self._allocated.set()

    def _delete(self) -> None:
        self._allocated.wait()
        self.api.delete(apis.CLAIMS, SECOND, namespace=world_fixtures.NAMESPACE)
        self.create(world_fixtures.pod("pod-2", SPARE))

    def unbound(self) -> str | None:
        """Return whether the pod with a claim of its own waits; the other one may for ever."""
        waiting = [
            pod["metadata"]["name"]
            for pod in self.documents(resources.PODS)
            if pod["metadata"]["name"] == "pod-2" and "nodeName" not in pod["spec"]
        ]
        return f"stuck: {', '.join(waiting)} not bound" if waiting else None


WORLDS: dict[str, world_specs.WorldSpec] = {
    "second-claim-deleted": world_specs.spec(
        SecondClaimDeleted,
        "H21: a pod's second claim is deleted when its first one is allocated",
        binders=world_specs.ANY_BINDERS,
    ),
}
