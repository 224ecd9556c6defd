"""Pods, each with a claim of its own, that compete for the devices of one node.

`AnswersFirst` separates the two variants of the first race of kubernetes#136269: the event of a
write comes before its answer, or a binding thread meets the informer's thread, which is delivering
the event of a claim that has nothing to do with the binding.
"""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.runtime import scheduler
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.model.objects import Object


def sizes(
    *, claims: int, devices: int, late_pods: int = 0, **others: tuple[int, int]
) -> Mapping[str, Any]:
    """Return the sizes: claims (one for each pod), devices, pods that may be bound at once."""
    return {
        "claims": (claims, max(2, late_pods)),
        "devices": (devices, 1),
        "binders": world_specs.ANY_BINDERS,
        **others,
    }


class CompetingPods(small_world.SmallWorld):
    """Pods with a claim each; some of them come when the first claim has been allocated."""

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
        late_pods: int = 0,
    ) -> None:
        """`late_pods`: the number of pods that come late."""
        self._late_count, self._late = late_pods, list[int]()
        self.written = concurrency.Event("written")
        """Set once a claim has been changed."""
        self.allocated = concurrency.Event("allocated")
        """Set once a claim has been allocated."""
        super().__init__(spec, runtime, defects=defects, remedies=remedies)

    def related_resources(self) -> Collection[str] | None:
        """Return those at which the oracles look."""
        return apis.CLAIMS.plural, apis.SLICES.plural

    def begin(self) -> None:
        """Create the first pods."""
        early = self.sizes["claims"] - self._late_count
        for index in range(early):
            self._create_pod(index)
        self._late = list(range(early, self.sizes["claims"]))
        self.store.listen(self._on_commit)

    def create_late_pods(self) -> bool:
        """Create the late pods; return False if there are none left."""
        late, self._late = self._late, []
        for index in late:
            self._create_pod(index, prefix="late-")  # sorts first, so it is tried first
        return bool(late)

    def go_on(self) -> bool:
        """Create the late pods, if no claim was allocated until all came to rest."""
        return self.create_late_pods()

    def on_allocated(self) -> None:
        """Handle each change of a claim that has an allocation: create the late pods."""
        self.create_late_pods()

    def _create_pod(self, index: int, *, prefix: str = "") -> None:
        number = index + 1
        self.create(world_fixtures.pod(f"{prefix}pod-{number}", f"claim-{number}"))

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource is not resources.CLAIMS or commit.type == "ADDED":
            return
        self.written.set()
        if b'"allocation"' in commit.object.data:
            self.allocated.set()
            self.on_allocated()

    def unfinished(self) -> str | None:
        """Return whether a device has no pod although pods wait, or the books are wrong.

        Where the subject is known to fail, a pod may wait forever.
        """
        if self.is_known_to_fail:
            return None
        bound = sum("nodeName" in pod["spec"] for pod in self.documents(resources.PODS))
        expected = self.bound_expected()
        if bound < expected:
            return f"stuck: {bound} pods are bound, expected {expected}"
        return self.differing_books()

    def bound_expected(self) -> int:
        """Return how many pods are bound in the end, at least."""
        return min(self.sizes["claims"], self.sizes["devices"])


WATCHES = ("drop-watch", "expire-watch")
"""The faults of watches."""
_ONE_LATE = functools.partial(CompetingPods, late_pods=1)


UNRELATED = "unrelated-claim"
FINALIZER = "resource.kubernetes.io/delete-protection"


class AnswersFirst(CompetingPods):
    """Pods that compete for devices, while another client changes a claim that no pod uses.

    The claims have the finalizer already, so that a binding writes its claim once: no event of the
    same claim can be on its way. With more than two pods, the claims of the others are unrelated
    traffic as well.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with devices, the claims, and one that no pod uses."""
        for document in super().objects():
            if document["kind"] == "ResourceClaim":
                document["metadata"]["finalizers"] = [FINALIZER]
            yield document
        yield world_fixtures.claim(UNRELATED)

    def go_on(self) -> bool:
        """Have the watches deliver everything, then create the late pods if there are any."""
        return self.server.deliver_all() or self.create_late_pods()


class ReallocatedClaim(CompetingPods):
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
    "two-claims-one-device": world_specs.spec(
        CompetingPods, "two pods at once, one of them must wait", **sizes(claims=2, devices=1)
    ),
    "pod-arrives-during-binding": world_specs.spec(
        _ONE_LATE,
        "a second pod is created when the first claim is written",
        **sizes(claims=2, devices=1, late_pods=1),
    ),
    "four-claims-two-devices": world_specs.spec(
        CompetingPods, "four pods at once, two of them must wait", **sizes(claims=4, devices=2)
    ),
    "four-claims-four-devices": world_specs.spec(
        CompetingPods, "four pods at once, one device for each", **sizes(claims=4, devices=4)
    ),
    "watch-breaks": world_specs.spec(
        _ONE_LATE,
        "a watch breaks and is resumed, or gets 410",
        faults=WATCHES,
        **sizes(claims=2, devices=1, late_pods=1, faults_max=(1, 0)),
    ),
    "object-touched": world_specs.spec(
        _ONE_LATE,
        "another client changes an object just before it is written: a conflict",
        faults=("touch-objects",),
        **sizes(claims=2, devices=1, late_pods=1, faults_max=(2, 0)),
    ),
    "answer-lost": world_specs.spec(
        CompetingPods,
        "H1: no answer to a write: it was committed, never will be, or will be later",
        faults=("lose-response", "lose-request", "delay-request"),
        **sizes(claims=2, devices=1, faults_max=(1, 0)),
    ),
    "answers-first": world_specs.spec(
        AnswersFirst,
        "answers come before their events, while another client changes an unrelated claim",
        faults=("touch-others",),
        answers_first=True,
        **sizes(claims=4, devices=4, faults_max=(4, 0)),
    ),
    "reallocated-unseen": world_specs.spec(
        functools.partial(ReallocatedClaim, late_pods=1),
        "H2: another writer changes an allocation while the watch is broken",
        faults=WATCHES,
        **sizes(claims=2, devices=2, late_pods=1, faults_max=(1, 0)),
    ),
}
