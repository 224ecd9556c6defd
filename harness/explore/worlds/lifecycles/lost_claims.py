"""A generated claim is deleted while its pod waits, and made again by the claim controller."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import api_server, world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
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


WORLDS: dict[str, world_specs.WorldSpec] = {
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
