"""Events: what they say, and that they are not repeated."""

from collections.abc import Iterator

import pytest

from harness.client import apis, event_recording
from harness.model.objects import Object
from tests.support import api_objects, local_servers

REASON, COMPONENT = "FailedResourceClaimCreation", "resource_claim"


@pytest.fixture
def server() -> Iterator[local_servers.LocalServer]:
    server = local_servers.LocalServer()
    yield server
    server.close()


def warned(server: local_servers.LocalServer, *messages: str, name: str = "p") -> list[Object]:
    """Send events on a pod; return those that are there."""
    api = apis.Api(server)
    recorder = event_recording.EventRecorder(api, component=COMPONENT)
    pod = local_servers.put(server, apis.PODS, api_objects.pod(name))
    for message in messages:
        recorder.warn(pod, "Pod", reason=REASON, message=message)
    found = api.list(apis.EVENTS, namespace="default").items
    uid = pod["metadata"]["uid"]
    assert {event["involvedObject"]["uid"] for event in found} == {uid}
    return found


def test_an_event_is_sent_once_and_says_what_it_is_about(
    server: local_servers.LocalServer,
) -> None:
    first, second = warned(server, "m", "m", "other", "m")
    assert (first["type"], first["reason"], first["message"]) == ("Warning", REASON, "m")
    assert first["involvedObject"]["name"] == "p"
    assert first["source"] == {"component": COMPONENT}
    assert second["message"] == "other"


@pytest.mark.parametrize("disturb", ["refuse", "lose"])
def test_an_event_that_cannot_be_sent_is_lost_and_nothing_else(
    server: local_servers.LocalServer, disturb: str
) -> None:
    if disturb == "refuse":
        server.refuse("POST", "/events", status=403)
    else:
        server.lose_answer("POST", "/events")
    assert "m" in {event["message"] for event in warned(server, "m", "m")}


def test_long_names_and_messages_are_cut(server: local_servers.LocalServer) -> None:
    (event,) = warned(server, "m" * 2000, name="p" * 253)
    assert (len(event["metadata"]["name"]), len(event["message"])) == (253, 1024)
