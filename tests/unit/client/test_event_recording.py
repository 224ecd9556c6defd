"""Events: repetitions are counted, and few are sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.client import apis, event_recording
from tests.support import api_objects, local_servers

REASON, COMPONENT = "FailedResourceClaimCreation", "resource_claim"


class Recorder:
    """A recorder with a pod that has the events."""

    def __init__(self, server: local_servers.LocalServer, name: str = "p") -> None:
        self.server, self.api = server, apis.Api(server)
        self.pod = local_servers.put(server, apis.PODS, api_objects.pod(name))
        self._recorder = event_recording.EventRecorder(self.api, component=COMPONENT)

    def warn(self, message: str, host: str = "") -> None:
        self._recorder.warn(self.pod, "Pod", reason=REASON, message=message, host=host)

    def events(self) -> list[dict[str, Any]]:
        return self.api.list(apis.EVENTS, namespace="default").items

    def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in self.events()}


@pytest.fixture
def server() -> Iterator[local_servers.LocalServer]:
    server = local_servers.LocalServer()
    yield server
    server.close()


@pytest.fixture
def recorder(server: local_servers.LocalServer) -> Recorder:
    return Recorder(server)


@pytest.mark.parametrize("host", ["", "n"])
def test_an_event_says_what_it_is_about_and_where_it_was(recorder: Recorder, host: str) -> None:
    recorder.warn("m", host=host)
    (event,) = recorder.events()
    assert (event["type"], event["reason"]) == ("Warning", REASON)
    about = event["involvedObject"]
    assert (about["name"], about["uid"]) == ("p", recorder.pod["metadata"]["uid"])
    assert event["source"] == {"component": COMPONENT} | ({"host": host} if host else {})
    assert (event["reportingComponent"], event["reportingInstance"]) == (COMPONENT, host)


def test_a_repetition_is_counted(recorder: Recorder) -> None:
    for _ in range(3):
        recorder.warn("m")
    assert recorder.counts() == {"m": 3}


def test_an_event_that_is_gone_is_sent_again(recorder: Recorder) -> None:
    recorder.warn("m")
    recorder.api.delete(apis.EVENTS, recorder.events()[0]["metadata"]["name"], namespace="default")
    recorder.warn("m")
    assert recorder.counts() == {"m": 1}


def test_an_object_gets_few_events(recorder: Recorder) -> None:
    for number in range(100):
        recorder.warn(f"m{number % 50}")
    assert len(recorder.counts()) == event_recording.BURST


@pytest.mark.parametrize("disturb", ["refuse", "lose"])
def test_an_event_that_cannot_be_sent_is_lost_and_nothing_else(
    recorder: Recorder, disturb: str
) -> None:
    if disturb == "refuse":
        recorder.server.refuse("POST", "/events", status=403)
    else:
        recorder.server.lose_answer("POST", "/events")
    recorder.warn("m")
    recorder.warn("m")
    assert "m" in recorder.counts()


def test_long_names_and_messages_are_cut(server: local_servers.LocalServer) -> None:
    recorder = Recorder(server, "p" * 253)
    recorder.warn("m" * 2000)
    (event,) = recorder.events()
    assert len(event["metadata"]["name"]) == 253
    assert len(event["message"]) == 1024
