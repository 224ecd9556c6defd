"""Clients that are too greedy: the server goes on for all others."""

import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.server import http_messages, servers

TIMEOUT_S = 20
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
HEAD = b"Host: x\r\nAuthorization: Bearer secret-of-the-tests\r\n"
GET = b"GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\n" + HEAD


@pytest.fixture
def serve_with(serve: Callable[..., Any]) -> Callable[..., Any]:
    """A server with limits."""

    def start(**limits: Any) -> Any:
        return serve(make_parts=lambda: servers.ServerParts(limits=servers.Limits(**limits)))

    return start


def read_all(connection: socket.socket) -> bytes:
    text = b""
    try:
        while data := connection.recv(65536):
            text += data
    except ConnectionResetError:
        text += b"(reset)"
    return text


def require_alive(live: Any) -> None:
    assert live.call("GET", "/healthz") == (200, b"ok")


def unread(live: Any) -> int:
    return sum(client.unread_bytes for client in live.server._connections)


def fill(live: Any, count: int, size: int) -> None:
    for number in range(count):
        document = {"metadata": {"name": f"big-{number}"}, "data": {"x": "x" * size}}
        assert live.call("POST", CONFIGMAPS, document)[0] == 201


# ---------------------------------------------------------------- too greedy


def stalled_watch(live: Any) -> socket.socket:
    """Open a watch with more events than may be left unread, and do not read it."""
    fill(live, 12, 1_000_000)
    connection = socket.socket()
    connection.settimeout(TIMEOUT_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.connect(("127.0.0.1", live.port))
    connection.sendall(GET.replace(b" HTTP", b"?watch=true HTTP") + b"\r\n")
    clocks.wait_until(
        lambda: live.run(lambda: unread(live)) > 0,
        timeout_s=TIMEOUT_S,
        why="the watch to begin",
    )
    assert live.call("POST", CONFIGMAPS, {"metadata": {"name": "late"}})[0] == 201
    return connection


def test_a_long_past_is_sent_as_it_is_read(serve_with: Callable[..., Any]) -> None:
    live = serve_with(watch_unread_bytes_max=2_000_000)
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
            % (CONFIGMAPS.encode(), HEAD, length if announced else chunked)
        )
        if not announced:
            connection.sendall(b"%x\r\n" % size + b"x" * size)
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"Request entity too large: limit is 3145728" in answer
    require_alive(live)
