"""Pods of one or two schedulers that share claims, or have several."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from harness.explore.worlds import literals, parts, world, world_fixtures, world_specs
from harness.explore.worlds.oracles import claim_oracles, rest_judges
from harness.model.objects import Object
from harness.subject.plugin import dynamic_resources
from harness.subject.scheduling import schedulers

_CLAIM = "claim-1"


def _limited(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield a claim that is allocated and reserved by others, with one place left.

    When the first pod is bound, others give their places back one by one, as many as pods need.
    """
    numbers = range(1, claim_oracles.RESERVATIONS_MAX)
    others = [
        {"resource": "pods", "name": f"other-{number}", "uid": f"other-{number}"}
        for number in numbers
    ]
    yield literals.pool()
    yield literals.allocated(_CLAIM, others)
    yield from literals.pods(sizes["pods"], _CLAIM)
    gone = ",".join(f"other-{number}" for number in numbers[: sizes["pods"] - 1])
    yield literals.does("give_back", f"{_CLAIM} {gone}", when="bound")


_GROUP: Object = {
    "metadata": {
        "name": "group-1",
        "namespace": world_fixtures.NAMESPACE,
        "uid": "00000000-0000-4000-8000-000000000003",
    },
    "spec": {
        "schedulingPolicy": {"basic": {}},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": _CLAIM}],
    },
}
"""The group of the first two pods; the API server of a world has no PodGroups."""


class GroupedPods(world.World):
    """Two pods of a group, which their scheduler knows."""

    def new_scheduler(self, *arguments: Any, **options: Any) -> schedulers.Scheduler:
        chosen = self.parts.scheduler
        knowing = dataclasses.replace(chosen, plugin=_knowing(chosen.plugin))
        self.parts = dataclasses.replace(self.parts, scheduler=knowing)
        return super().new_scheduler(*arguments, **options)


def _knowing(
    plugin: type[dynamic_resources.DynamicResources],
) -> type[dynamic_resources.DynamicResources]:
    class Knowing(plugin):  # type: ignore[valid-type, misc]
        def _group_of(self, pod: Object) -> Object | None:
            return _GROUP if pod["metadata"]["name"] in ("pod-1", "pod-2") else None

    return Knowing


def _grouped() -> Iterable[parts.Part]:
    yield literals.pool(3)
    yield from literals.claims(3)
    for name, entries in (
        ("pod-1", {"gpu": _CLAIM}),
        ("pod-2", {"gpu": _CLAIM, "own": "claim-2"}),
        ("pod-3", {"own": "claim-3"}),
    ):
        listed = [{"name": key, "resourceClaimName": claim} for key, claim in entries.items()]
        yield literals.pod(name, _CLAIM, resourceClaims=listed)


def _sharing(sizes: world_specs.Values) -> Iterator[parts.Part]:
    yield literals.pool()
    yield from literals.claims()
    yield from literals.pods(sizes["pods"], _CLAIM)


def _of_two(devices: int, claims: int, pods: int, claim: str) -> Iterator[parts.Part]:
    """Yield pods of two schedulers in turn."""
    yield literals.pool(devices)
    yield from literals.claims(claims)
    yield literals.SECOND_SCHEDULER
    for number in range(1, pods + 1):
        yield literals.pod(
            f"pod-{number}",
            claim.format(number),
            scheduler=world_fixtures.SCHEDULER if number % 2 else world_fixtures.OTHER_SCHEDULER,
        )


WORLDS: dict[str, world_specs.WorldSpec] = {
    "three-pods-one-claim": literals.spec(
        "three pods use one claim, and reserve it concurrently by update",
        _sharing,
        pods=(3, 2),
    ),
    "three-pods-one-claim-by-patch": literals.spec(
        "three pods use one claim, and reserve it concurrently by patch",
        _sharing,
        pods=(3, 2),
        patch=(1, 1),
    ),
    "one-reservation-left": literals.spec(
        "two pods compete for the last reservation of a claim, until another one ends",
        _limited,
        at_rest=(rest_judges.unbound, rest_judges.differing_books),
        pods=(2, 2),
    ),
    "claim-named-twice": literals.spec(
        "a pod names its claim twice, and another pod needs a device meanwhile",
        [
            literals.pool(3),  # each entry is planned with one, and the other pod needs one
            *literals.claims(2),
            literals.pod("pod-1", _CLAIM, _CLAIM),
            literals.pod("pod-2", "claim-2"),
        ],
    ),
    "grouped-pods": literals.spec(
        "two pods of a PodGroup share its claim, and one of them has a claim of its own",
        _grouped(),
        make=GroupedPods,
        oracles=world_specs.EXCLUSIVE,
    ),
    "second-claim-deleted": literals.spec(
        "H21: a pod's second claim is deleted when its first one is allocated",
        [
            literals.pool(3),  # so that every pod can be bound whatever is left over
            *literals.claims(3),
            literals.pod("pod-1", _CLAIM, "claim-2"),
            literals.does("delete_claim", "claim-2", when=f"allocated {_CLAIM}"),
            literals.pod("pod-2", "claim-3", when="deleted claim-2"),
        ],
        oracles=world_specs.EXCLUSIVE,
    ),
    "two-schedulers-one-claim": literals.spec(
        "pods of two schedulers use one claim; both allocate it",
        lambda sizes: _of_two(sizes["devices"], 1, sizes["pods"], _CLAIM),
        pods=(2, 2),
        devices=(2, 1),
        binders=1,
    ),
    "two-schedulers-one-device": literals.spec(
        "kubernetes#128980: two schedulers do not know of each other's plans",
        lambda sizes: _of_two(sizes["devices"], sizes["claims"], sizes["claims"], "claim-{}"),
        claims=(2, 2),
        devices=(1, 1),
        binders=1,
    ),
}
