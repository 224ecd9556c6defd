"""Watches through the proxy: their events, their order, their ends. And what faults do to watches,
there and in the API server itself.
"""

import contextlib
import itertools
import json
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from harness import clocks, processes, protobuf_wire
from harness.apiserver.serializer import protobuf
from harness.client import apis, transports
from tests.unit.fault_proxy import proxies

EVENTS = {"resource": "configmaps", "name": "w-*"}
numbers = itertools.count()


@contextlib.contextmanager
def watching(
    api: apis.Api, version: str | None = None, *, namespace: str | None = "default"
) -> Iterator["Events"]:
    if version is None:
        version = api.list(proxies.CONFIG_MAPS, namespace="default").resource_version
    watch = api.watch(proxies.CONFIG_MAPS, resource_version=version, namespace=namespace)
    events = Events(watch)
    try:
        yield events
    finally:
        watch.close()
        for _ in events.lines:  # its end closes the socket
            pass


class Events:
    """The events of a watch but for bookmarks, as they arrive."""

    def __init__(self, watch: transports.Watch) -> None:
        self.lines = iter(watch)

    def next(self) -> dict[str, Any]:
        for line in self.lines:
            if (event := json.loads(line))["type"] != "BOOKMARK":
                return event
        raise EOFError

    def names(self, count: int) -> list[str]:
        return [self.next()["object"]["metadata"]["name"] for _ in range(count)]


def make(server: apis.Api, count: int) -> list[str]:
    """Create objects; return their names."""
    made = [f"w-{next(numbers)}" for _ in range(count)]
    for name in made:
        proxies.create(server, name)
    return made


def test_50_watches_get_every_event(proxy: proxies.Proxy, server: apis.Api) -> None:
    with contextlib.ExitStack() as stack:
        watches = [
            stack.enter_context(watching(stack.enter_context(proxy.api()))) for _ in range(50)
        ]
        made = make(server, 20)
        for events in watches:
            assert events.names(20) == made


def test_protobuf_events_pass_byte_for_byte(
    proxy: proxies.Proxy, server: apis.Api, folder: pathlib.Path
) -> None:
    version = server.list(proxies.CONFIG_MAPS, namespace="default").resource_version
    make(server, 5)
    path = f"{proxies.PATH}?watch=1&timeoutSeconds=1&resourceVersion={version}"
    accepted = {"Accept": f"{proxies.PROTOBUF};stream=watch"}
    streams = [
        proxies.request(kubeconfig, "GET", path, **accepted)[1]
        for kubeconfig in (folder / "tls", proxy.kubeconfig())
    ]
    assert streams[0] == streams[1] != b""


def test_a_lag_delays_each_event_and_not_the_sum(carrier: proxies.Proxy, server: apis.Api) -> None:
    name = carrier.add("event", {"type": "delay", "seconds": 0.5}, match=EVENTS)
    with carrier.api() as api, watching(api) as events:
        made = make(server, 20)
        assert events.names(20) == made
    applied = carrier.applied(name)
    assert [item["facts"]["name"] for item in applied] == made
    first = applied[0]["ended"]["monotonicNs"]
    assert all(item["begun"]["monotonicNs"] < first for item in applied)
    assert all(
        item["ended"]["monotonicNs"] - item["begun"]["monotonicNs"] >= 0.5e9 for item in applied
    )


def test_events_after_a_blocked_one_wait(carrier: proxies.Proxy, server: apis.Api) -> None:
    name = carrier.add("event", {"type": "block"}, match=EVENTS, count=1)
    with carrier.api() as api, watching(api) as events:
        made = make(server, 3)
        carrier.wait_held(name)
        got: list[str] = []
        thread = threading.Thread(target=lambda: got.extend(events.names(3)))
        thread.start()
        proxies.create(server, f"after-{next(numbers)}")
        assert got == []
        carrier.release(name)
        thread.join(proxies.TIMEOUT_S)
        assert got == made


@pytest.mark.parametrize("action", ["drop", "truncate"])
def test_a_struck_watch_breaks_off(carrier: proxies.Proxy, server: apis.Api, action: str) -> None:
    carrier.add("event", {"type": action}, match=EVENTS, skip=1, count=1)
    with carrier.api() as api, watching(api) as events:
        assert make(server, 1) == events.names(1)
        make(server, 1)
        with pytest.raises(transports.TransportError):
            events.next()


def test_a_watch_ends_with_410(carrier: proxies.Proxy, server: apis.Api) -> None:
    name = carrier.add("event", {"type": "gone"}, match=EVENTS, count=1)
    with carrier.api() as api, watching(api) as events:
        (made,) = make(server, 1)
        event = events.next()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert event["object"]["reason"] == "Expired"
        with pytest.raises(EOFError):
            events.next()
    facts = carrier.applied(name)[0]["facts"]
    assert (facts["name"], facts["eventType"], facts["verb"]) == (made, "ADDED", "watch")


def test_a_watch_of_all_namespaces_is_struck_in_that_of_the_fault(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    carrier.add("event", {"type": "gone"}, match=EVENTS | {"namespace": "def*"})
    with carrier.api() as api, watching(api, namespace=None) as events:
        other = f"w-{next(numbers)}"
        server.create(proxies.CONFIG_MAPS, proxies.config_map(other), namespace="kube-system")
        assert events.names(1) == [other]
        make(server, 1)
        assert events.next()["type"] == "ERROR"


def test_a_watch_that_is_held_ends_without_what_was_held(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    name = carrier.add("event", {"type": "gone", "held": True}, match=EVENTS, count=1)
    with carrier.api() as api, watching(api) as events:
        make(server, 2)
        carrier.wait_held(name)
        assert carrier.applied(name)[0].get("ended") is None
        carrier.release(name)
        assert events.next()["type"] == "ERROR"
        with pytest.raises(EOFError):
            events.next()
    assert carrier.applied(name)[0]["ended"]


def with_initial_events(carrier: proxies.Proxy, *, timeout_s: int) -> list[dict[str, Any]]:
    """The events of a watch that begins with what is there."""
    path = (
        f"{proxies.PATH}?watch=1&timeoutSeconds={timeout_s}"
        "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    )
    lines = proxies.request(carrier.kubeconfig(), "GET", path)[1].splitlines()
    return [json.loads(line) for line in lines]


def test_bookmarks_are_withheld(carrier: proxies.Proxy, server: apis.Api) -> None:
    """The bookmark after the initial objects still arrives: without it no informer would start."""
    name = carrier.add("event", {"type": "omit"}, match={"eventTypes": ["BOOKMARK"]})
    events = with_initial_events(carrier, timeout_s=3)
    bookmarks = [event for event in events if event["type"] == "BOOKMARK"]
    (last,) = bookmarks
    assert "k8s.io/initial-events-end" in last["object"]["metadata"]["annotations"]
    assert carrier.applied(name)


def test_initial_events_are_spared(carrier: proxies.Proxy, server: apis.Api) -> None:
    make(server, 2)
    carrier.add("event", {"type": "drop"}, match=EVENTS)
    events = with_initial_events(carrier, timeout_s=1)
    assert sum(event["type"] == "ADDED" for event in events) >= 2


def test_a_fault_strikes_a_watch_whose_initial_events_came_before_it(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    path = (
        f"{proxies.PATH}?watch=1&timeoutSeconds=5"
        "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    )
    with carrier.api() as api:
        lines = iter(api.transport.watch(transports.Request(method="GET", path=path)))
        assert b"initial-events-end" in next(lines)
        carrier.add("event", {"type": "gone"}, match=EVENTS)
        make(server, 1)
        assert [json.loads(line)["type"] for line in lines] == ["ERROR"]


def test_a_watch_of_a_client_that_has_gone_ends(tmp_path: pathlib.Path) -> None:
    server = proxies.start_server(tmp_path)
    with proxies.running(tmp_path, tmp_path / "tls") as proxy, proxy.api() as api:
        with watching(api, "1"):
            assert len(connections_of(server)) == 1
        clocks.wait_until(
            lambda: not connections_of(server),
            timeout_s=proxies.TIMEOUT_S,
            why="the watch to end",
        )
    server.kill()


def connections_of(server: processes.Process) -> list[Any]:
    found = psutil.Process(server.pid).net_connections()
    return [item for item in found if item.status == psutil.CONN_ESTABLISHED]


def test_a_watch_in_protobuf_ends_with_410(proxy: proxies.Proxy, server: apis.Api) -> None:
    name = proxy.add("event", {"type": "gone"}, match=EVENTS, count=1)
    version = server.list(proxies.CONFIG_MAPS, namespace="default").resource_version
    make(server, 1)
    path = f"{proxies.PATH}?watch=1&resourceVersion={version}"
    accepted = {"Accept": f"{proxies.PROTOBUF};stream=watch"}
    _, frame = proxies.request(proxy.kubeconfig(), "GET", path, **accepted)
    event = protobuf_wire.parts(frame[4:])
    assert event[1] == b"ERROR"
    status = protobuf.document(protobuf_wire.first(event[2], 1))
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert proxy.applied(name)[0]["facts"]["uid"]


def test_a_connection_is_used_again_after_410(proxy: proxies.Proxy, server: apis.Api) -> None:
    """The response of the watch has ended for the client, although the API server's goes on."""
    proxy.add("event", {"type": "gone"}, match=EVENTS, count=1)
    version = server.list(proxies.CONFIG_MAPS, namespace="default").resource_version
    make(server, 1)
    with proxies.connection(proxy.kubeconfig()) as (connection, common):
        path = f"{proxies.PATH}?watch=1&resourceVersion={version}"
        connection.request("GET", path, headers=common)
        assert json.loads(connection.getresponse().read())["type"] == "ERROR"
        used = connection.sock
        connection.request("GET", "/version", headers=common)
        assert connection.getresponse().status == 200
        assert connection.sock is used


def test_a_slow_client_does_not_stop_the_others(proxy: proxies.Proxy, server: apis.Api) -> None:
    """It reads nothing; the proxy stops to read its watch, and keeps a bounded part of it."""
    path = f"{proxies.PATH}?watch=1&resourceVersion=1"
    with proxies.connection(proxy.kubeconfig()) as (connection, common), proxy.api() as api:
        connection.request("GET", path, headers=common)
        with watching(api) as events:
            for number in range(60):
                proxies.create(server, f"slow-{next(numbers)}-{number}", text="x" * 200_000)
            assert len(events.names(60)) == 60
