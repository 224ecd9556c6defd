"""Conditions of pods, as they arrive at the real store."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
from harness.client import apis
from harness.subject.telemetry import pod_reports
from tests.support import api_objects, local_servers

Object = dict[str, Any]
TIMEOUT_S = 30.0
NO_FIT = "0/1 nodes are available: 1 cannot allocate all claims."


class World:
    """Reports to a server, and what it has of them."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.server, self.api = server, apis.Api(server)
        self.reports = pod_reports.PodReports(self.api)

    def pod(self, name: str = "p", **more: Any) -> Object:
        return self.api.create(apis.PODS, api_objects.pod(name, **more), namespace="default")

    def condition(self, name: str = "p") -> Object:
        pod = self.api.get(apis.PODS, name, namespace="default")
        return api_objects.scheduled_condition(pod)

    def wait_condition(self, reason: str, name: str = "p") -> Object:
        clocks.wait_until(
            lambda: self.condition(name).get("reason") == reason,
            timeout_s=TIMEOUT_S,
            why=f"the condition {reason}",
        )
        return self.condition(name)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_reports, "HOLD_S", 0.0)


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    world = World(server)
    world.reports.start()
    yield world
    world.reports.stop()


def test_a_pod_is_told_why_it_waits_and_the_newest_reason_stays(world: World) -> None:
    pod = world.pod()
    world.reports.failed(pod, pod_reports.UNSCHEDULABLE, NO_FIT)
    assert world.wait_condition("Unschedulable")["message"] == NO_FIT
    world.reports.failed(pod, pod_reports.SCHEDULER_ERROR, "conflicts")
    condition = world.wait_condition("SchedulerError")
    assert (condition["status"], condition["message"]) == ("False", "conflicts")


def test_a_pod_that_is_bound_meanwhile_has_not_failed(server: local_servers.LocalServer) -> None:
    world = World(server)
    bound, waiting = world.pod("bound"), world.pod("waiting")
    for pod in (bound, waiting):
        world.reports.failed(pod, pod_reports.UNSCHEDULABLE, NO_FIT)
    world.reports.forget(bound)
    world.reports.start()
    world.wait_condition("Unschedulable", "waiting")
    world.reports.stop()
    assert world.condition("bound") == {}


def test_a_report_that_is_refused_does_not_end_the_others(world: World) -> None:
    world.server.refuse("PATCH", "/status", status=403)
    world.reports.failed(world.pod("p"), pod_reports.UNSCHEDULABLE, NO_FIT)
    world.reports.failed(world.pod("q"), pod_reports.UNSCHEDULABLE, NO_FIT)
    world.wait_condition("Unschedulable", "q")
    assert world.condition("p") == {}


def test_a_condition_is_not_written_to_another_pod_of_the_name(world: World) -> None:
    old = world.pod()
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    world.pod()
    world.reports.failed(old, pod_reports.UNSCHEDULABLE, NO_FIT)
    world.reports.failed(world.pod("later"), pod_reports.UNSCHEDULABLE, NO_FIT)
    world.wait_condition("Unschedulable", "later")
    assert world.condition() == {}


def test_a_condition_that_the_pod_has_is_not_written_again() -> None:
    pod = api_objects.known_pod("p")
    patch = pod_reports.condition(pod, pod_reports.UNSCHEDULABLE, NO_FIT)
    assert patch is not None
    told = {**pod, "status": patch["status"]}
    assert pod_reports.condition(told, pod_reports.UNSCHEDULABLE, NO_FIT) is None
    other = pod_reports.condition(told, pod_reports.UNSCHEDULABLE, "other words")
    assert other is not None
    (before,), (after,) = patch["status"]["conditions"], other["status"]["conditions"]
    assert after["lastTransitionTime"] == before["lastTransitionTime"]
