"""Answers that are lost, or late events, where the scheduler or the controller has no way back.

Random worlds have found these hazards.
"""

from collections.abc import Iterable

from harness import concurrency
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.explore.worlds.oracles import (
    device_exclusivity,
    leftovers,
    reservations,
)
from harness.explore.worlds.scheduling import extended_claims
from harness.model.objects import Object

POD = "pod-1"


class _OnePod(small_world.SmallWorld):
    """A pod with as many claims as the size says, and a device for each."""

    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def objects(self) -> Iterable[Object]:
        yield from world_fixtures.one_node(self.sizes["claims"])
        for name in self._claims():
            yield world_fixtures.claim(name)

    def begin(self) -> None:
        entries = [{"name": name, "resourceClaimName": name} for name in self._claims()]
        self.create(world_fixtures.pod(POD, "", resourceClaims=entries))

    def _claims(self) -> list[str]:
        return [f"claim-{number + 1}" for number in range(self.sizes["claims"])]


class ReservationTakenBack(_OnePod):
    """The write of the second claim gets no answer, so that Unreserve takes back the reservation of
    the first one by a patch. If the pod is tried again before the event of the patch has come, its
    first claim still counts as reserved, and the pod is bound without the reservation. The subject
    assumes the answer of the patch, unlike kube-scheduler: it fails if that one is lost too."""

    def spared_writes(self) -> str:
        """Return the path of bindings, which are another hazard."""
        return "/binding"


class BindingWithoutAnswer(_OnePod):
    """The binding of a pod gets no answer, although it is committed, or will be later. Unreserve
    takes back the reservation of a pod that is bound."""


class LeftOverClaim(small_world.SmallWorld):
    """A pod asks for an extended resource, and the answer to the creation of its claim is lost.

    The claim is left over, and PostFilter deletes it in a later attempt, after which the pod waits
    for an event. The deletion is none that helps: the claim has no devices, and the pod does not
    name it.
    """

    claim_count = 0

    def begin(self) -> None:
        """Create the pod."""
        self.create(extended_claims.pod(POD))

    def spared_writes(self) -> str:
        """Return the path of bindings, which are another hazard."""
        return "/binding"

    def unfinished(self) -> str | None:
        """Return whether the pod waits."""
        return self.unbound()


class _BoundPod(controlled_world.ControlledWorld):
    """A pod that another client changes when it is bound."""

    device_count = 2
    claim_count = 0

    def __init__(self, *arguments: object, **options: object) -> None:
        self._bound = concurrency.Event("bound")
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def begin(self) -> None:
        """Create the pod, and start the other client."""
        self.store.listen(self._on_commit)
        self.create(self.new_pod())
        concurrency.spawn("other-client", self._wait_and_change)

    def new_pod(self) -> Object:
        raise NotImplementedError

    def change_pod(self) -> None:
        raise NotImplementedError

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if world_fixtures.is_bound_pod(commit):
            self._bound.set()

    def _wait_and_change(self) -> None:
        self._bound.wait()
        self.change_pod()

    def unfinished(self) -> str | None:
        """Return whether a claim is still reserved for the pod, which is over."""
        return leftovers.of_controller(self.state())


class PodLastSeenWithoutClaims(_BoundPod):
    """A pod with a generated claim is bound and deleted while the controller's watch is broken.

    The controller knew the pod before its status named the claim. The next list is without the pod,
    so that its deletion comes with that old state: no claim is synced.
    """

    def new_pod(self) -> Object:
        return world_fixtures.pod_of_template(POD)

    def change_pod(self) -> None:
        """Delete the pod by force."""
        self.api.delete(apis.PODS, POD, namespace=world_fixtures.NAMESPACE, grace_period_s=0)


class PodEndedWithTwoClaims(_BoundPod):
    """Binding a pod that asks for an extended resource fails, and so does deleting its claim.

    If the next attempt does not know that claim yet, it makes another one, and the pod's status
    names only that. When the pod ends, the first claim is not synced.
    """

    judged_by = (reservations.Reservations,)

    def spared_writes(self) -> str:
        """Return the path of bindings, which are another hazard."""
        return "/binding"

    def new_pod(self) -> Object:
        """Return a pod that asks for an extended resource."""
        return extended_claims.pod(POD)

    def change_pod(self) -> None:
        """Let the pod finish."""
        self.finish(POD)


_ONE, _TWO = (1, 0), (2, 0)
_LOST = ("lose-response", "lose-request", "delay-request")


WORLDS: dict[str, world_specs.WorldSpec] = {
    "reservation-taken-back": world_specs.spec(
        ReservationTakenBack,
        "H10: a reservation is taken back, and the pod is tried again before the event comes",
        faults=_LOST,
        claims=(2, 1),
        binders=(1, 1),
        faults_max=_TWO,
    ),
    "binding-without-answer": world_specs.spec(
        BindingWithoutAnswer,
        "H11: the binding of a pod gets no answer, and its reservation is taken back",
        faults=_LOST,
        claims=(1, 1),
        binders=(1, 1),
        faults_max=_ONE,
    ),
    "left-over-claim": world_specs.spec(
        LeftOverClaim,
        "H12: a claim for extended resources is left over, and its deletion retries no pod",
        faults=_LOST,
        binders=(1, 1),
        faults_max=_TWO,
    ),
    "pod-last-seen-without-claims": controlled_world.spec(
        PodLastSeenWithoutClaims,
        "H13: a pod is gone before the controller hears which claims were made for it",
        faults=("expire-watch",),
        binders=(1, 1),
        faults_max=_ONE,
    ),
    "pod-ended-with-two-claims": controlled_world.spec(
        PodEndedWithTwoClaims,
        "H13: a pod ends that has two claims for extended resources and names one",
        faults=("lose-response",),
        binders=(1, 1),
        faults_max=_TWO,
    ),
}
