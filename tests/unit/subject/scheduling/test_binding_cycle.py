"""The threads of the binding cycle, with a plugin whose bindings wait until the test lets them."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks
from harness.client import apis
from harness.subject.plugin import scheduling_attempts
from harness.subject.queueing import queue_parts
from harness.subject.scheduling import binding_cycle
from harness.subject.telemetry import pod_reports
from tests.support import api_objects, local_servers

TIMEOUT_S = 30.0


class SlowPlugin:
    """PreBind waits until it may go on, and can be told to fail."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.undone: list[str] = []
        self.may_end = threading.Event()
        self.fails_for: set[str] = set()

    def pre_bind(self, attempt: scheduling_attempts.Attempt) -> None:
        self.entered.append(attempt.name)
        assert self.may_end.wait(TIMEOUT_S)
        if attempt.name in self.fails_for:
            raise scheduling_attempts.BindingError("no")

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        self.undone.append(attempt.name)


class World:
    """A server with pods, and the binding threads."""

    def __init__(
        self,
        server: local_servers.LocalServer,
        limit: int = 0,
        idle_max: int = binding_cycle.IDLE_MAX,
    ) -> None:
        self.api, self.plugin = apis.Api(server), SlowPlugin()
        self.failed: list[str] = []
        self.binders = binding_cycle.Binders(
            self.api,
            self.plugin,  # type: ignore[arg-type]
            limit=limit,
            idle_max=idle_max,
            reports=pod_reports.PodReports(None),
            on_failure=lambda binding, error: self.failed.append(f"{binding.attempt.name} {error}"),
        )

    def put(self, *names: str) -> None:
        for name in names:
            pod = self.api.create(apis.PODS, api_objects.pod(name), namespace="default")
            attempt = scheduling_attempts.Attempt(pod, [])
            self.binders.put(binding_cycle.Binding(queue_parts.QueuedPod(pod), attempt, "worker-1"))

    def node_of(self, name: str) -> Any:
        return self.api.get(apis.PODS, name, namespace="default")["spec"].get("nodeName")

    def wait(self, condition: Callable[[], object], why: str) -> None:
        clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why, interval_s=0.002)


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    world = World(server)
    yield world
    world.plugin.may_end.set()
    world.binders.stop()


def test_no_pod_waits_for_the_binding_of_another_and_not_all_threads_wait_for_more(
    world: World,
) -> None:
    names = [f"p-{number}" for number in range(2 * binding_cycle.IDLE_MAX)]
    world.put(*names)
    world.wait(lambda: len(world.plugin.entered) == len(names), "every binding to begin")
    world.plugin.may_end.set()
    world.wait(lambda: all(world.node_of(name) for name in names), "all pods to be bound")
    world.wait(lambda: world.binders._idle == len(world.binders._threads), "threads to end")
    assert world.binders._idle == binding_cycle.IDLE_MAX


def test_without_idle_threads_each_pod_has_a_thread_of_its_own(
    server: local_servers.LocalServer,
) -> None:
    world = World(server, idle_max=0)
    world.put("p", "q")
    world.wait(lambda: len(world.plugin.entered) == 2, "both bindings to begin")
    assert len(world.binders._threads) == 2
    world.plugin.may_end.set()
    world.wait(lambda: not world.binders._threads, "the threads to end")
    world.put("r")
    world.binders.stop()
    assert [world.node_of(name) for name in ("p", "q", "r")] == ["worker-1"] * 3


def test_no_more_pods_are_bound_at_a_time_than_the_limit(
    server: local_servers.LocalServer,
) -> None:
    world = World(server, limit=2)
    world.put("a", "b", "c")
    world.wait(lambda: len(world.plugin.entered) == 2, "two bindings to begin")
    assert len(world.binders._threads) == 2
    world.plugin.may_end.set()
    world.binders.stop()
    assert all(world.node_of(name) for name in ("a", "b", "c"))
    assert len(world.plugin.entered) == 3


def test_a_failure_is_undone_and_told(world: World) -> None:
    world.plugin.fails_for = {"default/bad"}
    world.plugin.may_end.set()
    world.put("bad", "good")
    world.wait(lambda: world.failed and world.node_of("good"), "both to end")
    assert world.plugin.undone == ["default/bad"]
    assert world.failed == ["default/bad no"]
    assert world.node_of("bad") is None


def test_stop_waits_for_the_bindings(server: local_servers.LocalServer) -> None:
    world = World(server)
    world.put("p")
    world.wait(lambda: world.plugin.entered, "the binding to begin")
    threading.Timer(0.05, world.plugin.may_end.set).start()
    world.binders.stop()
    assert world.node_of("p") == "worker-1"
