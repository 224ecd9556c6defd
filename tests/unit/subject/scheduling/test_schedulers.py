"""The scheduler with all its threads, against the real store."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.client import apis
from harness.subject.objects import claims
from harness.subject.tracking import gathering
from tests.support import api_objects, local_servers, scheduler_worlds

Object = dict[str, Any]
World = scheduler_worlds.World


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    world = World(server, None, api_objects.slice_of("a", "b", pool="worker-9"))
    for name in ("worker-10", "worker-9"):
        world.put(apis.NODES, api_objects.node(name))
    world.scheduler.start()
    yield world
    world.scheduler.stop()


@pytest.fixture
def seen(world: World, steps: list[tuple[str, dict[str, object]]]) -> Callable[[], list[str]]:
    """Returns the names of all steps so far."""
    return lambda: [name for name, _ in list(steps)]


@pytest.mark.parametrize(
    ("method", "part", "is_lost"),
    [
        ("PUT", "resourceclaims/of-p/status", False),
        ("PUT", "resourceclaims/of-p", False),
        ("POST", "/binding", False),
        ("PUT", "resourceclaims/of-p/status", True),
        ("PUT", "resourceclaims/of-p", True),
    ],
)
def test_a_write_that_was_refused_or_not_answered_is_tried_again(
    world: World, method: str, part: str, is_lost: bool
) -> None:
    if is_lost:
        world.server.lose_answer(method, part)
    else:
        world.server.refuse(method, part, status=500, times=2)
    world.add_pod("p")
    world.wait_bound("p")
    assert claims.is_reserved_for(world.claim("of-p"), world.pod("p"))


def test_pods_of_other_schedulers_and_pods_that_are_gated_are_left_alone(
    seen: Callable[[], list[str]], world: World
) -> None:
    other = api_objects.pod("other")
    other["spec"]["schedulerName"] = "default-scheduler"
    gated = api_objects.pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    for pod in (other, gated):
        world.put(apis.PODS, pod)
    world.put(apis.PODS, api_objects.pod("mine"))
    world.wait_bound("mine")
    assert (world.node_of("other"), world.node_of("gated")) == (None, None)
    assert seen().count("scheduling.started") == 1


def test_a_selector_of_a_slice_that_compares_text_with_a_number_selects_no_node(
    seen: Callable[[], list[str]], world: World
) -> None:
    """The first node in order has a label that is no number."""
    term = {"key": "kubernetes.io/hostname", "operator": "Gt", "values": ["5"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    world.put(apis.SLICES, api_objects.slice_of("c", pool="rack", nodeSelector=selector))
    for name in ("p", "q"):
        world.add_pod(name)
    world.wait_bound("p", "q")
    assert {world.node_of("p"), world.node_of("q")} == {"worker-9"}


def test_a_pod_backs_off_after_a_gather_that_met_only_conflicts(
    seen: Callable[[], list[str]], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again although nothing has happened."""
    gather = gathering.Gatherer.gather
    conflicts = iter([gathering.GatherTimeoutError("conflicts"), None])

    def conflicting(gatherer: gathering.Gatherer) -> Any:
        if error := next(conflicts, None):
            raise error
        return gather(gatherer)

    monkeypatch.setattr(gathering.Gatherer, "gather", conflicting)
    world.add_pod("p")
    world.wait_bound("p")
    assert "scheduling.failed" in seen()


def test_a_pod_that_has_lost_its_claim_is_scheduled_with_the_next_one(
    seen: Callable[[], list[str]], world: World
) -> None:
    """Only the pod's status tells that there is another claim."""
    pod = world.put(apis.PODS, api_objects.pod("p", templates=["t"]))
    other = api_objects.claim("lost", requests=[api_objects.exactly(count=3)], owner=pod)
    world.put(apis.CLAIMS, other)
    _record(world, "lost")
    world.wait(lambda: "scheduling.unschedulable" in seen(), "the pod to be unschedulable")
    world.api.delete(apis.CLAIMS, "lost", namespace="default")
    world.put(apis.CLAIMS, api_objects.claim("next", owner=pod))
    world.wait(lambda: world.scheduler._cache.get("default/next"), "the claim to be known")
    _record(world, "next")
    world.wait_bound("p")


def _record(world: World, claim: str) -> None:
    """Do the claim controller's work: name the claim in the pod's status."""
    pod = world.api.get(apis.PODS, "p", namespace="default")
    statuses = [{"name": "t", "resourceClaimName": claim}]
    status = {**pod["status"], "resourceClaimStatuses": statuses}
    world.api.update_status(apis.PODS, {**pod, "status": status})


def test_stop_ends_every_thread(world: World) -> None:
    world.add_pod("p")
    world.wait_bound("p")
    assert world.scheduler._cycle is not None
    threads = [world.scheduler._cycle.thread, *world.scheduler._binders._threads.values()]
    world.scheduler.stop()
    assert [thread.is_alive() for thread in threads if thread] == [False, False]
