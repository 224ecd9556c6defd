"""HTTP: who is let in, what is refused, order of answers and events, watches that stream, end and
are dropped.
"""

import json
import random
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.scheme import resources
from harness.apiserver.server import servers, watch_streams

TIMEOUT_S = 20
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
HEADERS = b"Host: x\r\nAuthorization: Bearer secret-of-the-tests\r\n"


class Coin(random.Random):
    """Falls as it is told: 0.0 sends events first, 1.0 the answer."""

    def __init__(self, side: float) -> None:
        super().__init__()
        self._side = side

    def random(self) -> float:
        return self._side


EVENTS_FIRST, ANSWER_FIRST = Coin(0.0), Coin(1.0)


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def raw(method: str, path: str, body: bytes = b"", *, headers: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return b"%b %b HTTP/1.1\r\n%b%b%b\r\n%b" % (
        method.encode(),
        path.encode(),
        HEADERS,
        headers,
        length,
        body,
    )


def read_until(connection: socket.socket, enough: Callable[[bytes], bool]) -> bytes:
    """Return the bytes that arrive until `enough` holds or the server closes."""
    text = b""
    while not enough(text):
        data = connection.recv(65536)
        if not data:
            break
        text += data
    return text


def read_all(connection: socket.socket) -> bytes:
    return read_until(connection, lambda _: False)


# ---------------------------------------------------------------- admission and refusals


@pytest.mark.parametrize(
    "text", [b"\x16\x03\x01 hello\r\n\r\n", b"GET\r\n\r\n", b"GET / FTP/9\r\n\r\n"]
)
def test_what_is_no_http_ends_the_connection(live: Any, text: bytes) -> None:
    with live.connect() as connection:
        connection.sendall(text)
        assert read_all(connection).startswith(b"HTTP/1.1 400 ")
    assert live.call("GET", "/healthz") == (200, b"ok")


@pytest.mark.parametrize(
    ("kind", "levels"), [("strategic-merge-patch", 950), ("merge-patch", 200_000)]
)
def test_a_body_that_is_too_deep_is_the_clients_mistake(live: Any, kind: str, levels: int) -> None:
    """It is too deep to be read or to be processed; which one depends on the Python version."""
    live.call("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    body = b'{"a":' * levels + b"1" + b"}" * levels
    headers = {"Content-Type": f"application/{kind}+json"}
    status, document = live.call("PATCH", "/api/v1/nodes/n", body, headers=headers)
    assert (status, document["reason"]) == (400, "BadRequest")
    assert "exceeded max depth" in document["message"]


def test_a_server_error_is_answered_and_serving_goes_on(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a mistake of the tests")

    monkeypatch.setattr(live.server.handler, "answer", fail)
    status, body = live.call("GET", CONFIGMAPS)
    assert (status, body["reason"]) == (500, "InternalError")
    assert "RuntimeError" in body["message"]
    monkeypatch.undo()
    assert live.call("GET", CONFIGMAPS)[0] == 200


# ---------------------------------------------------------------- verbs


def test_head_answers_without_a_body(live: Any) -> None:
    with live.connect() as connection:
        connection.sendall(raw("HEAD", "/healthz", headers=b"Connection: close\r\n"))
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: 0" not in answer


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("coin", [EVENTS_FIRST, ANSWER_FIRST, random.Random(7)])
def test_pipelined_requests_are_answered_in_order(
    serve: Callable[..., Any], coin: random.Random
) -> None:
    live = serve(coin)
    requests, expected = b"", []
    for number in range(40):
        body = json.dumps(config(f"c{number}")).encode()
        requests += raw("POST", CONFIGMAPS, body) + raw("GET", f"{CONFIGMAPS}/c{number}")
        requests += raw("GET", f"{CONFIGMAPS}/missing")
        expected += [b"201", b"200", b"404"]
    requests += raw("GET", "/healthz", headers=b"Connection: close\r\n")
    with live.connect() as connection:
        connection.sendall(requests)
        text = read_all(connection)
    assert re.findall(rb"HTTP/1.1 (\d+) ", text) == [*expected, b"200"]
    names = [int(name) for name in re.findall(rb'"name":"c(\d+)"', text)]
    assert names == [number for number in range(40) for _ in range(2)]


@pytest.mark.parametrize("coin", [EVENTS_FIRST, ANSWER_FIRST])
@pytest.mark.parametrize("query", ["watch=true", "watch=true&resourceVersion=1"])
def test_a_watch_after_a_pipelined_write_comes_after_its_answer(
    serve: Callable[..., Any], coin: random.Random, query: str
) -> None:
    live = serve(coin)
    body = json.dumps(config("a")).encode()
    if "resourceVersion" in query:
        live.call("POST", CONFIGMAPS, config("before"))
        live.run(lambda: live.store.compact(resources.CONFIGMAPS))  # the watch ends with 410
    with live.connect() as connection:
        watch = raw(
            "GET", f"{CONFIGMAPS}?{query}&timeoutSeconds=1", headers=b"Connection: close\r\n"
        )
        connection.sendall(raw("POST", CONFIGMAPS, body) + watch)
        text = read_all(connection)
    assert re.findall(rb"HTTP/1.1 (\d+) ", text) == [b"201", b"200"]
    assert text.index(b"201 Created") < text.index(b'"type"')
    assert text.endswith(b"0\r\n\r\n")


# ---------------------------------------------------------------- watches


def test_a_watch_that_cannot_be_resumed_says_410(live: Any) -> None:
    live.call("POST", CONFIGMAPS, config("a"))
    live.run(lambda: live.store.compact(resources.CONFIGMAPS))
    with live.watching(f"{CONFIGMAPS}?watch=true&resourceVersion=1") as events:
        (event,) = events
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == (
        "ERROR",
        410,
        "Expired",
    )


def test_bookmarks_bring_the_version_forward(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_streams, "BOOKMARK_INTERVAL_S", 0.05)
    query = "watch=true&allowWatchBookmarks=true&resourceVersion=1"
    with live.watching(f"{CONFIGMAPS}?{query}") as events:
        live.call("POST", "/api/v1/namespaces/default/secrets", config("noise"))
        version = live.run(lambda: live.store.resource_version)
        for event in events:
            assert event["type"] == "BOOKMARK"
            assert event["object"]["kind"] == "ConfigMap"
            if event["object"]["metadata"]["resourceVersion"] == str(version):
                break


def test_the_last_bookmark_comes_before_the_end(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_streams, "LAST_BOOKMARK_BEFORE_END_S", 0.9)
    query = "watch=true&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds="
    with live.watching(f"{CONFIGMAPS}?{query}1") as events:
        assert [event["type"] for event in events] == ["BOOKMARK"]
    monkeypatch.setattr(watch_streams, "LAST_BOOKMARK_BEFORE_END_S", 1)
    with live.watching(f"{CONFIGMAPS}?{query}1") as events:
        assert list(events) == []


def test_a_watcher_that_does_not_read_is_dropped(serve: Callable[..., Any]) -> None:
    limits = servers.Limits(watch_unread_bytes_max=256 * 1024)
    live = serve(make_parts=lambda: servers.ServerParts(limits=limits))
    with live.connect() as slow, live.watching(f"{CONFIGMAPS}?watch=true") as events:
        slow.sendall(raw("GET", f"{CONFIGMAPS}?watch=true"))
        clocks.wait_until(
            lambda: live.run(lambda: sum(map(len, live.server._watches.values()))) == 2,
            timeout_s=TIMEOUT_S,
            why="both watches",
        )
        big = {"metadata": {"name": "big"}, "data": {"x": "x" * 500_000}}
        live.call("POST", CONFIGMAPS, big)
        for number in range(100):
            live.call("PUT", f"{CONFIGMAPS}/big", big | {"data": {"x": str(number) * 250_000}})
            next(events)  # who reads stays
            if live.run(lambda: sum(map(len, live.server._watches.values()))) == 1:
                break
        else:
            pytest.fail("the slow watcher was kept")
        assert not read_all(slow).endswith(b"0\r\n\r\n")


def test_a_client_that_leaves_takes_its_watch_along(live: Any) -> None:
    with live.watching(f"{CONFIGMAPS}?watch=true"):
        pass
    clocks.wait_until(
        lambda: not live.run(lambda: any(live.server._watches.values())),
        timeout_s=TIMEOUT_S,
        why="the watch to be removed",
    )
