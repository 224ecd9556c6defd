"""The scheduler with all its threads, against the real store."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks, concurrency
from harness.client import apis
from harness.subject import assembling
from harness.subject.objects import claims
from harness.subject.scheduling import schedulers
from harness.subject.tracking import gathering
from tests.support import api_objects, local_servers

Object = dict[str, Any]
TIMEOUT_S = 30.0


class World:
    """A server with nodes, devices and a class, and a scheduler."""

    def __init__(self, server: local_servers.LocalServer, *remedies: str) -> None:
        self.server, self.api = server, apis.Api(server)
        self.put(apis.DEVICE_CLASSES, api_objects.device_class())
        for index in (10, 9):
            self.put(apis.NODES, api_objects.node(f"worker-{index}"))
        self.put(apis.SLICES, api_objects.slice_of("a", "b", pool="worker-9"))
        self.scheduler = schedulers.Scheduler(
            self.api,
            schedulers.SchedulerOptions(binders=4, backoff_initial_s=0.001, backoff_max_s=0.002),
            assembling.parts((), remedies),
        )

    def put(self, resource: apis.Resource, obj: Object) -> Object:
        return local_servers.put(self.server, resource, obj)

    def pod_with_claim(self, name: str, **more: Any) -> None:
        self.put(apis.CLAIMS, api_objects.claim(f"of-{name}", **more))
        self.put(apis.PODS, api_objects.pod(name, use=[f"of-{name}"]))

    def node_of(self, pod: str) -> str | None:
        found = self.api.get(apis.PODS, pod, namespace="default")
        node: str | None = found["spec"].get("nodeName")
        return node

    def claim(self, name: str) -> Object:
        return self.api.get(apis.CLAIMS, name, namespace="default")

    def wait(self, condition: Callable[[], object], why: str) -> None:
        clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why, interval_s=0.002)

    def wait_bound(self, *pods: str) -> None:
        self.wait(lambda: all(self.node_of(pod) for pod in pods), f"{pods} to be bound")


class Steps:
    """Counts steps."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        self.taken.append(name)


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    world = World(server)
    world.scheduler.start()
    yield world
    world.scheduler.stop()


@pytest.fixture
def seen() -> Iterator[Steps]:
    seen = Steps()
    concurrency.listen(seen)
    yield seen
    concurrency.listen(None)


@pytest.mark.parametrize(
    ("method", "part"),
    [("PUT", "resourceclaims/of-p/status"), ("PUT", "resourceclaims/of-p"), ("POST", "/binding")],
)
def test_a_binding_that_was_refused_is_tried_again(world: World, method: str, part: str) -> None:
    world.server.refuse(method, part, status=500, times=2)
    world.pod_with_claim("p")
    world.wait_bound("p")
    pod = world.api.get(apis.PODS, "p", namespace="default")
    assert claims.is_reserved_for(world.claim("of-p"), pod)


@pytest.mark.parametrize("part", ["resourceclaims/of-p/status", "resourceclaims/of-p"])
def test_a_write_whose_answer_was_lost_is_tried_again(world: World, part: str) -> None:
    world.server.lose_answer("PUT", part)
    world.pod_with_claim("p")
    world.wait_bound("p")
    pod = world.api.get(apis.PODS, "p", namespace="default")
    assert claims.is_reserved_for(world.claim("of-p"), pod)


def test_pods_of_other_schedulers_and_pods_that_are_gated_are_left_alone(
    seen: Steps, world: World
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
    assert seen.taken.count("scheduling.started") == 1


def test_a_selector_of_a_slice_that_compares_text_with_a_number_selects_no_node(
    seen: Steps, world: World
) -> None:
    """The first node in order has a label that is no number."""
    term = {"key": "kubernetes.io/hostname", "operator": "Gt", "values": ["5"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    world.put(apis.SLICES, api_objects.slice_of("c", pool="rack", nodeSelector=selector))
    for name in ("p", "q"):
        world.pod_with_claim(name)
    world.wait_bound("p", "q")
    assert {world.node_of("p"), world.node_of("q")} == {"worker-9"}


def test_a_pod_backs_off_after_a_gather_that_met_only_conflicts(
    seen: Steps, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again although nothing has happened."""
    gather = gathering.Gatherer.gather
    conflicts = iter([gathering.GatherTimeoutError("conflicts"), None])

    def conflicting(gatherer: gathering.Gatherer) -> Any:
        if error := next(conflicts, None):
            raise error
        return gather(gatherer)

    monkeypatch.setattr(gathering.Gatherer, "gather", conflicting)
    world.pod_with_claim("p")
    world.wait_bound("p")
    assert "scheduling.failed" in seen.taken


def test_a_pod_that_has_lost_its_claim_is_scheduled_with_the_next_one(
    seen: Steps, world: World
) -> None:
    """Only the pod's status tells that there is another claim."""
    pod = world.put(apis.PODS, api_objects.pod("p", templates=["t"]))
    other = api_objects.claim("lost", requests=[api_objects.exactly(count=3)], owner=pod)
    world.put(apis.CLAIMS, other)
    _record(world, "lost")
    world.wait(lambda: "scheduling.unschedulable" in seen.taken, "the pod to be unschedulable")
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


def test_stop_ends_every_thread(server: local_servers.LocalServer) -> None:
    world = World(server)
    world.scheduler.start()
    world.pod_with_claim("p")
    world.wait_bound("p")
    cycle = world.scheduler._cycle
    assert cycle is not None
    assert cycle.thread is not None
    threads = [cycle.thread, *world.scheduler._binders._threads.values()]
    assert len(threads) == 2
    assert all(thread.is_alive() for thread in threads)
    world.scheduler.stop()
    assert not any(thread.is_alive() for thread in threads)


# ------------------------------------------------------------------------------- remedies
