"""A remedy for H11: a pod whose binding got no answer keeps its reservations meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.client import apis, transports
from harness.subject.plugin import scheduling_attempts
from harness.subject.queueing import queue_parts
from harness.subject.remedies import bind_again
from harness.subject.scheduling import binding_cycle
from harness.subject.telemetry import pod_reports
from tests.support import api_objects, controlled_runtimes, local_servers

Send = Callable[[transports.Request], transports.Response]


class Connection:
    """A transport to the server whose answers to bindings, and reads of pods, fail as told."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.server = server
        self.bindings: list[str] = []
        """The fates of the next bindings: `lost`, `never` or `unsent`; then they are answered."""
        self.reads_failing = 0
        """Number of the next reads that get no connection."""
        self.sent: list[str] = []
        """Methods of what was sent."""

    def send(self, request: transports.Request) -> transports.Response:
        self.sent.append(request.method)
        if request.method == "GET" and self.reads_failing:
            self.reads_failing -= 1
            raise transports.TransportError("connection refused", sent=False)
        fate = self.bindings.pop(0) if request.method == "POST" and self.bindings else ""
        if fate in ("", "lost"):
            answer = self.server.send(request)
        if fate:
            raise transports.TransportError("no answer", sent=fate != "unsent")
        return answer


class Plugin:
    """The plugin's part: nothing to write, and a list of what was undone."""

    def __init__(self) -> None:
        self.undone: list[str] = []

    def pre_bind(self, attempt: scheduling_attempts.Attempt) -> None:
        pass

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        self.undone.append(attempt.name)


class World:
    """A server with a pod, and the binding threads with the remedy."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.api, self.plugin, self.connection = apis.Api(server), Plugin(), Connection(server)
        self.pod = self.api.create(apis.PODS, api_objects.pod("p"), namespace="default")
        self.binders = bind_again.BindAgainBinders(
            apis.Api(self.connection),  # type: ignore[arg-type]
            self.plugin,
            limit=0,
            reports=pod_reports.PodReports(None),
            on_failure=lambda *_: None,
        )

    def bind(self) -> None:
        attempt = scheduling_attempts.Attempt(self.pod, [])
        queued = queue_parts.QueuedPod(self.pod)
        self.binders._bind(binding_cycle.Binding(queued, attempt, "worker-1"))

    def node(self) -> Any:
        return self.api.get(apis.PODS, "p", namespace="default")["spec"].get("nodeName")


@pytest.fixture
def world(server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime) -> World:
    del time
    return World(server)


BOUND, UNDONE = ("worker-1", []), (None, ["default/p"])


@pytest.mark.parametrize(
    ("fates", "reads_failing", "sent", "outcome"),
    [
        ([], 0, ["POST"], BOUND),
        (["lost"], 0, ["POST", "GET"], BOUND),
        (["never"], 0, ["POST", "GET", "POST"], BOUND),
        (["never", "lost"], 0, ["POST", "GET", "POST", "GET"], BOUND),
        (["never", "unsent"], 0, ["POST", "GET", "POST", "GET", "POST"], BOUND),
        (["lost"], 3, ["POST", *["GET"] * 4], BOUND),
        (["unsent"], 0, ["POST"], UNDONE),
    ],
)
def test_a_pod_is_bound_or_what_was_reserved_is_undone(
    world: World, fates: list[str], reads_failing: int, sent: list[str], outcome: object
) -> None:
    world.connection.bindings, world.connection.reads_failing = list(fates), reads_failing
    world.bind()
    assert world.connection.sent == sent
    assert (world.node(), world.plugin.undone) == outcome


def test_a_pod_that_is_bound_to_another_node_keeps_its_reservations(world: World) -> None:
    world.api.bind(world.pod, "worker-2")
    world.bind()
    assert world.connection.sent == ["POST", "GET"]
    assert (world.node(), world.plugin.undone) == ("worker-2", [])


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_pod_that_is_gone_is_undone(world: World, *, comes_back: bool) -> None:
    world.connection.bindings = ["never"]
    world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
    if comes_back:
        world.api.create(apis.PODS, api_objects.pod("p"), namespace="default")
    world.bind()
    assert world.connection.sent == ["POST", "GET"]
    assert world.plugin.undone == ["default/p"]


def test_a_stopped_scheduler_tries_once_more_and_undoes_nothing(world: World) -> None:
    world.binders.stop()
    world.connection.bindings, world.connection.reads_failing = ["lost"], 9
    world.bind()
    assert world.connection.sent == ["POST", "GET"]
    assert world.plugin.undone == []
