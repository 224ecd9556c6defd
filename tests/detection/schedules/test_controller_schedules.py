"""Each known defect of the claim controller in a schedule that always shows it.

The order is fixed by what is there before the controller starts, and by what it has written. The
other defects have worlds (`test_worlds`) or plays (`test_claim_defects`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.subject import assembling
from harness.subject.defects import controller_defects
from harness.subject.objects import claims
from tests.support import api_objects, controller_worlds, local_servers

pytestmark = pytest.mark.detection
Object = dict[str, Any]
World = controller_worlds.World


def reservation_of_a_pod_that_went_unseen(world: World) -> bool:
    """A pod is deleted while no controller runs: its claim stays allocated."""
    gone = world.put(apis.PODS, api_objects.pod("p", use=["c"]))
    world.allocated("c", gone)
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.start()
    world.settle()
    return bool(world.reserved_for())


def claim_of_a_pod_that_has_ended(world: World) -> bool:
    """A pod has ended and has no claim: it gets one, which the cleanup deletes again and again."""
    world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
    pod = world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
    world.api.update_status(apis.PODS, {**pod, "status": {"phase": "Succeeded"}})
    world.start()
    world.settle()
    return bool(claims.recorded_names(world.pod()))


def record_that_is_dropped(world: World) -> bool:
    """One of two recorded claims is deleted: the record of the other one goes with it."""
    for name in ("x", "y"):
        world.put(apis.CLAIM_TEMPLATES, api_objects.template(name))
    world.put(apis.PODS, api_objects.pod("p", templates=["x", "y"]))
    world.start()
    first = str(world.wait_recorded()["x"])
    counts: list[int] = []

    def note(commit: watch_cache.Commit) -> None:
        if commit.resource is resources.PODS:
            status = commit.object.document().get("status") or {}
            counts.append(len(status.get("resourceClaimStatuses") or ()))

    world.server.store.listen(note)
    world.api.delete(apis.CLAIMS, first, namespace="default")
    world.wait(lambda: counts, "a record of the next claim")
    return counts[0] < 2


def claims_of_the_pod_of_a_group(world: World) -> bool:
    """A pod belongs to a PodGroup that is not known yet: its claims may be the group's."""
    feature_gates.choose({feature_gates.POD_GROUPS: True})
    try:
        world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
        pod = api_objects.pod("p", templates=["x"])
        pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
        world.put(apis.PODS, pod)
    finally:
        feature_gates.choose(feature_gates.DEFAULTS)
    world.start()
    world.settle()
    owners = [item["metadata"]["ownerReferences"][0]["name"] for item in world.claims()]
    return "p" in owners


SCHEDULES: dict[str, Callable[[World], bool]] = {
    "controller-claims-not-enqueued": reservation_of_a_pod_that_went_unseen,
    "controller-finished-pods-synced": claim_of_a_pod_that_has_ended,
    "controller-statuses-overwritten": record_that_is_dropped,
    "group-claims-made-for-pods": claims_of_the_pod_of_a_group,
}
"""By defect; each returns whether the defect shows."""


@pytest.fixture
def worlds() -> Iterator[Callable[[Sequence[str]], World]]:
    """Makes worlds; their controllers and servers are stopped in the end."""
    made: list[tuple[World, local_servers.LocalServer]] = []

    def make(chosen: Sequence[str]) -> World:
        server = local_servers.LocalServer()
        made.append((World(server, chosen=chosen, workers=1), server))
        return made[-1][0]

    yield make
    for world, server in made:
        world.stop()
        server.close()


@pytest.mark.parametrize("defect", SCHEDULES)
def test_a_schedule_shows_the_defect_and_nothing_without_it(
    defect: str, worlds: Callable[[Sequence[str]], World]
) -> None:
    assert SCHEDULES[defect](worlds([defect]))
    assert not SCHEDULES[defect](worlds([]))


@pytest.mark.parametrize("defect", ["small-mutation-cache", ""])
def test_more_claims_are_created_than_the_cache_holds(defect: str) -> None:
    """The informer delivers none of them; a retry looks for the first one."""
    created = assembling.claim_controller_parts([defect] if defect else []).created()
    for number in range(controller_defects.CLAIMS_MAX + 1):
        owner = api_objects.known_pod("p", uid=f"pod-{number}")
        created.add(api_objects.claim(f"c-{number}", version=number + 1, owner=owner))
    assert bool(created.owned_by("pod-0")) == (not defect)
    assert created.owned_by("pod-1")
