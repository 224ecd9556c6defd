"""Pods of one or two schedulers that share a claim, or want one device."""

import dataclasses
import random
from collections.abc import Callable, Iterable
from typing import Any

from harness import concurrency
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache
from harness.client import apis
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, protocol, reservations
from harness.model.objects import Object
from harness.subject.scheduling import schedulers

DEVICES = 3
"""Each entry is planned with a device of its own, and the other pod needs one."""


class NamedTwice(small_world.SmallWorld):
    """A pod with two entries for one claim, and a pod with a claim of its own."""

    device_count = DEVICES
    claim_count = 2
    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def begin(self) -> None:
        """Create both pods."""
        self.create(world_fixtures.pod_naming_twice("pod-1", "claim-1"))
        self.create(world_fixtures.pod("pod-2", "claim-2"))


NAMES = ("scheduler-1", "scheduler-2")


class TwoSchedulers(small_world.SmallWorld):
    """Two schedulers, each with pods of its own."""

    schedulers_named = NAMES
    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)


class OneClaim(TwoSchedulers):
    """Pods of both schedulers use one claim: the first to allocate it wins."""

    def begin(self) -> None:
        """Create the pods, in turn for each scheduler."""
        for index in range(self.sizes["pods"]):
            name = NAMES[index % len(NAMES)]
            self.create(world_fixtures.pod(f"pod-{index + 1}", "claim-1", scheduler=name))


class OneDevice(TwoSchedulers):
    """Each pod has a claim of its own: neither scheduler sees what the other one plans."""

    def begin(self) -> None:
        """Create the pods, in turn for each scheduler."""
        for index in range(self.sizes["claims"]):
            name = NAMES[index % len(NAMES)]
            self.create(
                world_fixtures.pod(f"pod-{index + 1}", f"claim-{index + 1}", scheduler=name)
            )

    @property
    def finding(self) -> str | None:
        """Description of the first violation, with the names of both schedulers."""
        found = super().finding
        return found and f"{found}, by {' and '.join(NAMES)}"


def new(past: watch_cache.Past, *, reservations_max: int) -> "LimitedStore":
    """Return a store of a world with this limit of reservations."""
    store = LimitedStore(
        now=lambda: world_fixtures.NOW,
        stream=random.Random(2),
        past=past,
        track_managers=False,
    )
    store.reservations_max = reservations_max
    return store


class LimitedStore(stores.Store):
    """Refuses a claim with too many reservations, as the API server does beyond 256."""

    reservations_max = 0

    def update(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        document: Object,
        **options: Any,
    ) -> stored_objects.Stored:
        """Replace an object. Raises StatusError 422 beyond the limit."""
        self._require_few(resource, document)
        return super().update(resource, namespace, name, document, **options)

    def patch(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        **options: Any,
    ) -> stored_objects.Stored:
        """Change an object. Raises StatusError 422 beyond the limit."""

        def checked(document: Object) -> Object:
            changed = change(document)
            self._require_few(resource, changed)
            return changed

        return super().patch(resource, namespace, name, checked, **options)

    def _require_few(self, resource: resources.ResourceType, document: Object) -> None:
        count = len(document.get("status", {}).get("reservedFor") or ())
        if resource is resources.CLAIMS and count > self.reservations_max:
            cause = field_errors.too_many("status.reservedFor", count, self.reservations_max)
            raise status_errors.invalid(resource, document["metadata"]["name"], [cause])


CLAIM = "claim-1"
LIMIT = 3
"""Number of reservations of a claim in the world with a limit."""


class SharedClaim(small_world.SmallWorld):
    """One claim and its pods; the first allocates it, and all reserve it."""

    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def begin(self) -> None:
        """Create the pods."""
        for index in range(self.sizes["pods"]):
            self.create(world_fixtures.pod(f"pod-{index + 1}", CLAIM))


class ClaimReservedByPatch(SharedClaim):
    """The pods reserve the claim by patches, which conflict with no other write."""

    def scheduler_options(self, name: str) -> schedulers.SchedulerOptions:
        return dataclasses.replace(super().scheduler_options(name), reserve_by="patch")


class LimitedClaim(SharedClaim):
    """The claim is allocated and reserved by others, with one place left.

    When the first pod is bound, one of the others gives its place back.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._bound = concurrency.Event("bound")

    def objects(self) -> Iterable[Object]:
        """Return a node with one device, and the claim with its reservations."""
        *others, claim = super().objects()
        yield from others
        reserved = [_reservation(number) for number in range(1, LIMIT)]
        yield {**claim, "status": world_fixtures.allocated("device-0", reserved)}

    def new_store(self, past: watch_cache.Past) -> stores.Store:
        return new(past, reservations_max=LIMIT)

    def oracles(self) -> Iterable[protocol.Oracle]:
        """Return those of devices and reservations, with the limit of this world."""
        return device_exclusivity.DeviceExclusivity(), reservations.Reservations(LIMIT)

    def begin(self) -> None:
        """Create the pods, and let another one end when the first is bound."""
        super().begin()
        self.store.listen(self._on_commit)
        concurrency.spawn("other-pods", self._give_back)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if world_fixtures.is_bound_pod(commit):
            self._bound.set()

    def _give_back(self) -> None:
        """Remove the reservations of the others one by one, as many as pods need."""
        self._bound.wait()
        for number in range(1, self.sizes["pods"]):
            gone = {"status": {"reservedFor": [{"$patch": "delete", "uid": _uid(number)}]}}
            self.api.patch(
                apis.CLAIMS,
                CLAIM,
                gone,
                namespace=world_fixtures.NAMESPACE,
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
            )


def _reservation(number: int) -> Object:
    return {"resource": "pods", "name": f"other-{number}", "uid": _uid(number)}


def _uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def _sizes(pods: int) -> dict[str, Any]:
    return {
        "pods": (pods, 2),
        "binders": world_specs.ANY_BINDERS,
    }


WORLDS: dict[str, world_specs.WorldSpec] = {
    "three-pods-one-claim": world_specs.spec(
        SharedClaim,
        "three pods use one claim, and reserve it concurrently by update",
        **_sizes(pods=3),
    ),
    "three-pods-one-claim-by-patch": world_specs.spec(
        ClaimReservedByPatch,
        "three pods use one claim, and reserve it concurrently by patch",
        **_sizes(pods=3),
    ),
    "one-reservation-left": world_specs.spec(
        LimitedClaim,
        "two pods compete for the last reservation of a claim, until another one ends",
        **_sizes(pods=2),
    ),
    "claim-named-twice": world_specs.spec(
        NamedTwice,
        "a pod names its claim twice, and another pod needs a device meanwhile",
        binders=world_specs.ANY_BINDERS,
    ),
    "two-schedulers-one-claim": world_specs.spec(
        OneClaim,
        "pods of two schedulers use one claim; both allocate it",
        pods=(2, 2),
        devices=(2, 1),
        binders=(1, 1),
    ),
    "two-schedulers-one-device": world_specs.spec(
        OneDevice,
        "kubernetes#128980: two schedulers do not know of each other's plans",
        claims=(2, 2),
        devices=(1, 1),
        binders=(1, 1),
    ),
}
