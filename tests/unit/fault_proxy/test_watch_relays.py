"""Watches through the proxy: their events, their order, their ends. And what faults do to watches,
there and in the API server itself.
"""

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
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


def test_a_lag_delays_each_event_and_not_the_sum(carrier: proxies.Proxy, server: apis.Api) -> None:
    name = carrier.add("event", {"type": "delay", "seconds": 0.3}, match=EVENTS)
    with carrier.api() as api, watching(api) as events:
        made = make(server, 20)
        assert events.names(20) == made
    applied = carrier.applied(name)
    assert [item["facts"]["name"] for item in applied] == made
    for item in applied:
        lasted_ns = item["ended"]["monotonicNs"] - item["begun"]["monotonicNs"]
        assert 0.3e9 <= lasted_ns < 5e9  # the sum is 6 s


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


@contextlib.contextmanager
def from_the_start(carrier: proxies.Proxy, *, timeout_s: int) -> Iterator[Iterator[Any]]:
    """Give the types of the events of a watch that begins with what is there."""
    path = (
        f"{proxies.PATH}?watch=1&timeoutSeconds={timeout_s}"
        "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    )
    with carrier.api() as api:
        watch = api.transport.watch(transports.Request(method="GET", path=path))
        lines = iter(watch)
        yield (json.loads(line)["type"] for line in lines)
        watch.close()
        for _ in lines:
            pass


def test_bookmarks_are_withheld(carrier: proxies.Proxy, server: apis.Api) -> None:
    """The bookmark after the initial objects still arrives: without it no informer would start."""
    name = carrier.add("event", {"type": "omit"}, match={"eventTypes": ["BOOKMARK"]})
    with from_the_start(carrier, timeout_s=3) as types:  # the other one comes 2 s before the end
        assert next(types) == "BOOKMARK"
        clocks.wait_until(
            lambda: carrier.applied(name), timeout_s=proxies.TIMEOUT_S, why="the bookmark"
        )
        make(server, 1)
        assert next(types) == "ADDED"


def test_initial_events_are_spared_but_not_those_after_them(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    make(server, 2)
    carrier.add("event", {"type": "gone"}, match=EVENTS)
    with from_the_start(carrier, timeout_s=30) as types:
        assert [next(types) for _ in range(3)] == ["ADDED", "ADDED", "BOOKMARK"]
        make(server, 1)
        assert list(types) == ["ERROR"]


def test_a_fault_strikes_a_watch_whose_initial_events_came_before_it(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    with from_the_start(carrier, timeout_s=30) as types:
        assert next(types) == "BOOKMARK"
        carrier.add("event", {"type": "gone"}, match=EVENTS)
        make(server, 1)
        assert list(types) == ["ERROR"]


def test_a_slow_client_does_not_stop_the_others(proxy: proxies.Proxy, server: apis.Api) -> None:
    """It reads nothing; the proxy stops to read its watch, and keeps a bounded part of it."""
    path = f"{proxies.PATH}?watch=1&resourceVersion=1"
    with proxies.connection(proxy.kubeconfig()) as (connection, common), proxy.api() as api:
        connection.request("GET", path, headers=common)
        with watching(api) as events:
            for number in range(60):
                proxies.create(server, f"slow-{next(numbers)}-{number}", text="x" * 200_000)
            assert len(events.names(60)) == 60
