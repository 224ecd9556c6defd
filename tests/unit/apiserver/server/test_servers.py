"""HTTP: who is let in, what is refused, order of answers and events, watches that stream, end and
are dropped.
"""

import contextlib
import json
import random
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.server import http_messages, servers, watch_streams

TIMEOUT_S = 20
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
BEARER = b"Authorization: Bearer secret-of-the-tests\r\n"
HEADERS = b"Host: x\r\n" + BEARER


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


def read_all(connection: socket.socket) -> bytes:
    """All that the server says until it closes or resets the connection."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65536):
            said += data
    return said


def talk(live: Any, text: bytes) -> bytes:
    with live.connect() as connection:
        connection.sendall(text)
        return read_all(connection)


def codes(said: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+) ", said)]


CLOSE = raw("GET", "/healthz", headers=b"Connection: close\r\n")


# ---------------------------------------------------------------- admission and refusals


@pytest.mark.parametrize(
    "text", [b"\x16\x03\x01 hello\r\n\r\n", b"GET\r\n\r\n", b"GET / FTP/9\r\n\r\n"]
)
def test_what_is_no_http_ends_the_connection(live: Any, text: bytes) -> None:
    assert codes(talk(live, text)) == [400]
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
    answer = talk(live, raw("HEAD", "/healthz", headers=b"Connection: close\r\n"))
    assert codes(answer) == [200]
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
        expected += [201, 200, 404]
    text = talk(live, requests + CLOSE)
    assert codes(text) == [*expected, 200]
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
    closing = b"Connection: close\r\n"
    watch = raw("GET", f"{CONFIGMAPS}?{query}&timeoutSeconds=1", headers=closing)
    text = talk(live, raw("POST", CONFIGMAPS, body) + watch)
    assert codes(text) == [201, 200]
    assert text.index(b"201 Created") < text.index(b'"type"')
    assert text.endswith(b"0\r\n\r\n")


# ---------------------------------------------------------------- watches


def test_a_watcher_that_does_not_read_is_dropped(serve: Callable[..., Any]) -> None:
    limits = servers.Limits(watch_unread_bytes_max=256 * 1024)
    live = serve(make_parts=lambda: {"limits": limits})
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


# ---------------------------------------------------------------- one response to each request

WATCH = raw("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=1")


def test_what_goes_wrong_after_the_head_ends_the_connection(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: watch_streams.Watch) -> None:
        raise status_errors.bad_request("too late")

    monkeypatch.setattr(watch_streams.Watch, "_set_timers", fail)
    assert b"too late" not in talk(live, raw("GET", f"{CONFIGMAPS}?watch=1"))


@pytest.mark.parametrize("upgrade", [b"websocket", b"SPDY/3.1", b"h2c, websocket"])
def test_an_upgrade_is_refused_in_one_answer(live: Any, upgrade: bytes) -> None:
    offer = b"Connection: Upgrade\r\nUpgrade: %b\r\n" % upgrade
    said = talk(live, raw("GET", "/healthz", headers=offer))
    assert codes(said) == [400]
    assert b"upgrades are not served" in said
    assert b"\r\nConnection: close\r\n" in said


def test_a_trailer_is_no_header(live: Any) -> None:
    chunked = b"Transfer-Encoding: chunked\r\n\r\n0\r\n%b\r\n"
    text = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + chunked % BEARER
    assert codes(talk(live, text + CLOSE)) == [401, 200]


def test_what_follows_a_watch_is_not_answered_in_the_middle_of_it(live: Any) -> None:
    said = talk(live, WATCH + b"this is not HTTP\r\n\r\n")
    assert codes(said) == [200]
    assert said.endswith(b"0\r\n\r\n")


def test_after_a_watch_the_connection_serves_the_next_request(live: Any) -> None:
    assert codes(talk(live, WATCH + CLOSE)) == [200, 200]


def test_a_client_that_closes_gets_nothing_after_a_watch(live: Any) -> None:
    watch = WATCH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    said = talk(live, watch + CLOSE)
    assert codes(said) == [200]
    assert said.endswith(b"0\r\n\r\n")


# ---------------------------------------------------------------- clients that are too greedy


def unread(live: Any) -> int:
    return sum(client.unread_bytes for client in live.server._connections)


def stalled_watch(live: Any) -> socket.socket:
    """Open a watch with more events than may be left unread, and do not read it."""
    for number in range(12):
        document = config(f"big-{number}") | {"data": {"x": "x" * 1_000_000}}
        assert live.call("POST", CONFIGMAPS, document)[0] == 201
    connection = socket.socket()
    connection.settimeout(TIMEOUT_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.connect(("127.0.0.1", live.port))
    connection.sendall(raw("GET", f"{CONFIGMAPS}?watch=true"))
    clocks.wait_until(
        lambda: live.run(lambda: unread(live)) > 0,
        timeout_s=TIMEOUT_S,
        why="the watch to begin",
    )
    assert live.call("POST", CONFIGMAPS, {"metadata": {"name": "late"}})[0] == 201
    return connection


@pytest.mark.parametrize("accept", ["", "Accept: application/json;as=Table;g=meta.k8s.io;v=v1"])
def test_a_long_list_is_sent_in_pieces_to_clients_that_stay(live: Any, accept: str) -> None:
    for number in range(130):
        assert live.call("POST", CONFIGMAPS, config(f"c{number:03}"))[0] == 201
    headers = f"{accept}\r\n".encode() if accept else b""
    said = talk(live, raw("GET", CONFIGMAPS, headers=headers) + CLOSE)
    assert codes(said) == [200, 200]
    head, _, rest = said.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    chunks = re.split(rb"(?:\r\n|^)[0-9a-f]+\r\n", rest.partition(b"\r\n0\r\n\r\n")[0])
    assert len(chunks) > 5
    leaving = talk(live, raw("GET", CONFIGMAPS, headers=b"Connection: close\r\n" + headers))
    whole = json.loads(leaving.partition(b"\r\n\r\n")[2])
    assert json.loads(b"".join(chunks)) == whole
    assert len(whole["rows" if accept else "items"]) == 130


def test_a_long_list_shows_one_version_however_slowly_it_is_read(live: Any) -> None:
    names = [f"c{number}" for number in range(130)]
    for name in names:
        document = config(name) | {"data": {"x": "x" * 50_000}}
        assert live.call("POST", CONFIGMAPS, document)[0] == 201
    with live.connect() as connection:
        connection.sendall(raw("GET", CONFIGMAPS) + CLOSE)
        clocks.wait_until(
            lambda: live.run(lambda: unread(live)) > 0, timeout_s=TIMEOUT_S, why="the list to begin"
        )
        for name in names:
            assert live.call("DELETE", f"{CONFIGMAPS}/{name}")[0] == 200
        said = read_all(connection)
    assert codes(said) == [200, 200]
    assert {name.decode() for name in re.findall(rb'"name":"(c\d+)"', said)} == {*names}


def test_a_long_past_is_sent_as_it_is_read(serve: Callable[..., Any]) -> None:
    limits = servers.Limits(watch_unread_bytes_max=2_000_000)
    live = serve(make_parts=lambda: {"limits": limits})
    with stalled_watch(live) as connection:
        assert live.run(lambda: unread(live)) < 2_000_000
        text = b""
        while b'"name":"late"' not in text:
            data = connection.recv(1 << 20)
            assert data
            text += data
    names = re.findall(rb'"name":"(big-\d+|late)"', text)
    assert sorted(names) == [*sorted(b"big-%d" % number for number in range(12)), b"late"]
    assert names[-1] == b"late"


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large(live: Any, announced: bool) -> None:
    size = http_messages.BODY_BYTES_MAX + 1
    length = b"Content-Length: %d\r\n" % size
    chunked = b"Transfer-Encoding: chunked\r\n"
    with live.connect() as connection:
        connection.sendall(
            b"POST %b HTTP/1.1\r\n%b%b\r\n"
            % (CONFIGMAPS.encode(), HEADERS, length if announced else chunked)
        )
        if not announced:
            connection.sendall(b"%x\r\n" % size + b"x" * size)
        answer = read_all(connection)
    assert codes(answer) == [413]
    assert b"Request entity too large: limit is 3145728" in answer
    assert live.call("GET", "/healthz") == (200, b"ok")
