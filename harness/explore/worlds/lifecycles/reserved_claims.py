"""Claims that the controller keeps for pods that run, frees after others, and makes again."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import api_server, world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.explore.worlds.scheduling import extended_claims
from harness.model.objects import Object

POD = "pod-1"


class LostClaim(controlled_world.ControlledWorld):
    """Another client deletes the claim of a pod as soon as the pod's status names it.

    The pod must be tried again when its status names the next one.
    """

    claim_count = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._recorded: concurrency.Queue[str] = concurrency.Queue("recorded")
        self._names: set[str] = set()
        self._other_client = apis.Api(api_server.LocalServer(self.store, self.runtime))
        """Its calls have no faults."""

    def begin(self) -> None:
        """Create the pod, and start the other client."""
        self.store.listen(self._on_commit)
        self.create(world_fixtures.pod_of_template(POD))
        concurrency.spawn("other-client", self._delete_claims)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        """Note each claim that the pod's status names."""
        if commit.resource is not resources.PODS:
            return
        for status in commit.object.document().get("status", {}).get("resourceClaimStatuses", ()):
            if status["resourceClaimName"] not in self._names:
                self._names.add(status["resourceClaimName"])
                self._recorded.put(status["resourceClaimName"])

    def _delete_claims(self) -> None:
        for _ in range(self.sizes["losses"]):
            name = self._recorded.get()
            concurrency.step("client.claim.deleted", claim_name=name)
            with apis.if_there():
                self._other_client.delete(apis.CLAIMS, name, namespace=world_fixtures.NAMESPACE)

    def unfinished(self) -> str | None:
        """Return whether the pod waits although its claim is there, or the books are wrong."""
        return self.unbound() or self.differing_books()


class LateCreation(LostClaim):
    """The same as above, without a scheduler, and with the remedy for H8.

    Of several creations of one claim, only one is stored then. But one that is still under way when
    that claim is deleted finds its name free again.
    """

    schedulers_named = ()

    def __init__(self, *args: Any, remedies: Sequence[str], **options: Any) -> None:
        super().__init__(*args, remedies=[*{*remedies, "derive-claim-names"}], **options)

    def objects(self) -> Iterable[Object]:
        """Return nothing: no claim is allocated here."""
        return ()

    def unfinished(self) -> str | None:
        """Return whether an entry has no claim, or is not recorded with it."""
        return None if self.is_known_to_fail else self.without_claim()


CLAIM = "claim-1"
_FOREIGN = {
    "apiGroup": "batch.example",
    "resource": "jobs",
    "name": "job-1",
    "uid": "00000000-0000-4000-8000-000000000001",
}
_GONE = {"resource": "pods", "name": "gone", "uid": "00000000-0000-4000-8000-000000000002"}


class FreshPods(controlled_world.ControlledWorld):
    """Pods that share a claim; the controller may see the claim's reservations before it sees the
    pods."""

    def begin(self) -> None:
        """Create the pods."""
        for number in range(1, self.sizes["pods"] + 1):
            self.create(world_fixtures.pod(f"pod-{number}", CLAIM))


class ForeignConsumer(controlled_world.ControlledWorld):
    """A claim is reserved for a consumer that is no pod, and for a pod that is gone."""

    schedulers_named = ()

    def begin(self) -> None:
        """Allocate and reserve the claim, as another client."""
        status = world_fixtures.allocated("device-0", [_FOREIGN, _GONE])
        stored = self.store.get(resources.CLAIMS, world_fixtures.NAMESPACE, CLAIM)
        self.store.update(
            resources.CLAIMS,
            world_fixtures.NAMESPACE,
            CLAIM,
            {**stored.document(), "status": status},
            subresource="status",
        )

    def unfinished(self) -> str | None:
        """Return whether the reservation of the pod is still there, or that of the other is not."""
        claim = self.store.get(resources.CLAIMS, world_fixtures.NAMESPACE, CLAIM).document()
        names = [entry["name"] for entry in claim["status"].get("reservedFor") or ()]
        wanted = [_FOREIGN["name"]]
        return None if names == wanted else f"leaked: reserved for {names}, expected {wanted}"


class PodUnknownToInformer(controlled_world.ControlledWorld):
    """A claim is reserved for a pod that is deleted soon; no one else uses the claim.

    If the watch of pods has to list again, the list may come before the pod is there or after it
    is gone, so that the controller's informer never knows of it and reports no deletion. When the
    claim's event is handled in between, a live GET finds the pod, and the reservation is kept.
    """

    schedulers_named = ()

    def begin(self) -> None:
        """Start the other client."""
        concurrency.spawn("other-client", self._use_once)

    def _use_once(self) -> None:
        namespace = world_fixtures.NAMESPACE
        pod = self.api.create(apis.PODS, world_fixtures.pod("pod-1", CLAIM), namespace=namespace)
        claim = self.api.get(apis.CLAIMS, CLAIM, namespace=namespace)
        user = {"resource": "pods", "name": "pod-1", "uid": pod["metadata"]["uid"]}
        status = world_fixtures.allocated("device-0", [user])
        self.api.update_status(apis.CLAIMS, {**claim, "status": status})
        self.api.delete(apis.PODS, "pod-1", namespace=namespace, grace_period_s=0)

    def unfinished(self) -> str | None:
        claim = self.store.get(resources.CLAIMS, world_fixtures.NAMESPACE, CLAIM).document()
        names = [entry["name"] for entry in claim["status"].get("reservedFor") or ()]
        return f"leaked: reserved for {names}, which is gone" if names else None


class FinishedExtendedPods(controlled_world.ControlledWorld):
    """A pod with an extended resource has finished, and the next one waits for its device."""

    claim_count = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._finished: set[str] = set()

    def begin(self) -> None:
        """Create the pods."""
        self.store.listen(self._on_commit)
        for number in range(1, self.sizes["pods"] + 1):
            self.create(extended_claims.pod(f"pod-{number}"))

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        name = commit.object.name
        if world_fixtures.is_bound_pod(commit) and name not in self._finished:
            self._finished.add(name)
            self.finish(name)


WORLDS: dict[str, world_specs.WorldSpec] = {
    "pods-not-heard-of": controlled_world.spec(
        FreshPods,
        "the controller hears of a claim's reservation before it hears of the pod",
        pods=(2, 1),
        binders=world_specs.ANY_BINDERS,
    ),
    "foreign-consumer": controlled_world.spec(
        ForeignConsumer,
        "a claim is reserved for a consumer that is no pod, and for a pod that is gone",
    ),
    "pod-unknown-to-informer": controlled_world.spec(
        PodUnknownToInformer,
        "H9: a pod comes and goes between two lists of the controller, which reads it in between",
        faults=("expire-watch",),
        faults_max=(1, 0),
    ),
    "finished-extended-pods": controlled_world.spec(
        FinishedExtendedPods,
        "a pod with an extended resource finishes, and the next one waits for its device",
        pods=(2, 1),
        binders=(1, 1),
    ),
    "claim-lost-while-pod-waits": controlled_world.spec(
        LostClaim,
        "the generated claim of a waiting pod is deleted, and made again",
        losses=(1, 0),
        binders=(1, 1),
    ),
    "lost-claim-unseen": controlled_world.spec(
        LostClaim,
        "H14: a generated claim comes and goes between two lists of the controller",
        faults=("expire-claim-watch",),
        losses=(1, 0),
        binders=(1, 1),
        faults_max=(1, 0),
    ),
    "late-creation": controlled_world.spec(
        LateCreation,
        "H17: a creation arrives when the claim of its retry was recorded and deleted",
        faults=("delay-request",),
        losses=(1, 0),
        faults_max=(1, 0),
    ),
}
