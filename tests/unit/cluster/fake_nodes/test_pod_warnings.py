"""Events about pods whose claims cannot be prepared: when they are posted, and how often."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
from harness.client import apis
from harness.cluster.fake_nodes import pod_queues, pod_warnings
from tests.support import api_objects, local_servers

TIMEOUT_S = 60
NEVER_S = 1e9


class Warned:
    """Pods of a server, and the events about them."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.server, self.api = server, apis.Api(server)
        self.warnings = pod_warnings.PodWarnings(self.api)

    def pod(self, name: str) -> Any:
        return local_servers.put(self.server, apis.PODS, api_objects.pod(name, node="n"))

    def events(self) -> list[tuple[str, str, int]]:
        """Pod, message without its first words, and count of each event."""
        return sorted(
            (
                event["involvedObject"]["name"],
                event["message"].removeprefix("Failed to prepare dynamic resources: "),
                event["count"],
            )
            for event in self.api.list(apis.EVENTS, namespace="default").items
        )

    def posted(self) -> list[tuple[str, str, int]]:
        """The events once all are posted; no more can be told."""
        self.warnings.stop()
        return self.events()


@pytest.fixture
def warned() -> Iterator[Warned]:
    server = local_servers.LocalServer()
    yield Warned(server)
    server.close()


def test_a_repetition_is_told_no_sooner_than_a_kubelet_tries_again(
    warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_warnings, "AGAIN_S", NEVER_S)
    warned.warnings.start()
    pod = warned.pod("p")
    for message in ("m", "m", "m", "other"):
        warned.warnings.failed(pod, message)
    assert warned.posted() == [("p", "m", 1), ("p", "other", 1)]


def test_a_repetition_after_that_is_counted(
    warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_warnings, "AGAIN_S", 0.0)
    warned.warnings.start()
    pod = warned.pod("p")
    for _ in range(3):
        warned.warnings.failed(pod, "m")
    assert warned.posted() == [("p", "m", 3)]


def test_a_pod_that_ran_meanwhile_is_told_again(
    warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_warnings, "AGAIN_S", NEVER_S)
    warned.warnings.start()
    pod = warned.pod("p")
    warned.warnings.failed(pod, "m")
    warned.warnings.forget(pod_queues.of(pod))
    warned.warnings.failed(pod, "m")
    assert warned.posted() == [("p", "m", 2)]


def test_a_slow_api_server_holds_up_no_pod(warned: Warned) -> None:
    told, waits = threading.Event(), []
    warned.server.before("POST", "/events", lambda: waits.append(told.wait(TIMEOUT_S)))
    pods = [warned.pod("p"), warned.pod("q")]
    warned.warnings.start()
    for pod in pods:
        warned.warnings.failed(pod, "m")
    told.set()
    assert warned.posted() == [("p", "m", 1), ("q", "m", 1)]
    assert waits == [True]


def test_what_does_not_fit_is_told_at_the_next_attempt(
    warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_warnings, "UNPOSTED_MAX", 1)
    p, q = warned.pod("p"), warned.pod("q")
    warned.warnings.failed(p, "m")
    warned.warnings.failed(q, "m")
    warned.warnings.start()
    clocks.wait_until(lambda: bool(warned.events()), timeout_s=TIMEOUT_S, why="an event")
    warned.warnings.failed(q, "again")
    assert warned.posted() == [("p", "m", 1), ("q", "again", 1)]


def test_an_event_that_is_refused_is_told_at_the_next_attempt(
    warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_warnings, "AGAIN_S", 0.0)
    warned.server.refuse("POST", "/events", status=403)
    warned.warnings.start()
    pod = warned.pod("p")
    for _ in range(2):
        warned.warnings.failed(pod, "m")
    assert warned.posted() == [("p", "m", 1)]


def test_a_pod_that_waits_is_told_after_a_while_and_then_again(
    warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned.warnings.start()
    p, q = warned.pod("p"), warned.pod("q")
    assert 0 < warned.warnings.waiting(p, "m") <= pod_warnings.PATIENCE_S
    monkeypatch.setattr(pod_warnings, "PATIENCE_S", 0.0)
    assert warned.warnings.waiting(q, "m") == pod_warnings.AGAIN_S
    assert warned.posted() == [("q", "m", 1)]
