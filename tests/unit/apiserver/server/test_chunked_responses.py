"""Long lists: sent in pieces, complete, and without delaying other clients."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from harness.apiserver.scheme import resources
from harness.apiserver.server import http_framing
from harness.apiserver.storage import stored_objects

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
HEAD = b"Host: x\r\nAuthorization: Bearer secret-of-the-tests\r\n"
GET = b"GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\n" + HEAD
VIEWS = ("", ";as=Table;v=v1;g=meta.k8s.io", ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
COUNT = 250
TIMEOUT_S = 20
MB = 1_000_000


def fill(live: Any, *, size: int = 1) -> None:
    def create() -> None:
        for number in range(COUNT):
            document = {"metadata": {"name": f"c-{number:03}"}, "data": {"x": "x" * size}}
            live.server.store.create(resources.CONFIGMAPS, "default", document)

    live.run(create)


def read_until(connection: socket.socket, end: bytes) -> bytes:
    text = bytearray()
    while not text.endswith(end):
        data = connection.recv(1 << 20)
        assert data, text[-200:]
        text += data
    return bytes(text)


def body_of(text: bytes) -> Any:
    head, _, body = text.partition(b"\r\n\r\n")
    assert b"\r\nTransfer-Encoding: chunked" in head
    return json.loads(b"".join(body.split(b"\r\n")[1::2]))


@pytest.mark.parametrize("view", VIEWS)
def test_a_long_list_has_every_object(live: Any, view: str) -> None:
    fill(live)
    headers = {"Accept": f"application/json{view}"}
    key = "rows" if "Table" in view else "items"
    _, whole = live.call("GET", CONFIGMAPS, headers=headers)
    names = [(row.get("object") or row)["metadata"]["name"] for row in whole[key]]
    assert len(names) == len(set(names)) == COUNT
    assert set(whole["metadata"]) == {"resourceVersion"}


def test_what_is_asked_after_a_long_list_is_answered_after_it(live: Any) -> None:
    fill(live, size=1000)
    with live.connect() as connection:
        connection.sendall(GET + b"\r\nGET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n")
        text = read_until(connection, b"\r\n\r\nok")
    long, end, after = text.partition(http_framing.LAST_CHUNK)
    assert len(body_of(long + end)["items"]) == COUNT
    assert after.startswith(b"HTTP/1.1 200 OK")


def test_a_connection_that_is_not_kept_ends_after_the_list(live: Any) -> None:
    fill(live)
    with live.connect() as connection:
        connection.sendall(GET + b"Connection: close\r\n\r\n")
        text = b"".join(iter(lambda: connection.recv(65536), b""))
    assert len(body_of(text)["items"]) == COUNT


def test_a_list_that_is_read_slowly_shows_its_moment_and_holds_nobody_up(live: Any) -> None:
    """Pieces that the client does not read are not encoded."""
    fill(live, size=100_000)
    with live.connect() as connection:
        connection.sendall(GET + b"\r\n")
        started = connection.recv(1000)
        assert live.call("DELETE", f"{CONFIGMAPS}/c-{COUNT - 1:03}")[0] == 200
        assert live.call("GET", f"{CONFIGMAPS}/c-{COUNT - 1:03}")[0] == 404
        unsent = live.run(
            lambda: sum(item._outgoing.unread_bytes for item in live.server._connections)
        )
        assert unsent < 2 * MB
        listed = body_of(started + read_until(connection, http_framing.LAST_CHUNK))
    assert listed["items"][-1]["metadata"]["name"] == f"c-{COUNT - 1:03}"


def test_a_list_that_is_under_way_is_ended_before_the_server_stops(live: Any) -> None:
    fill(live, size=100_000)
    with live.connect() as connection:
        connection.sendall(GET + b"\r\n")
        started = connection.recv(1000)
        stopped = asyncio.run_coroutine_threadsafe(
            live.server.stop(timeout_s=TIMEOUT_S), live._loop
        )
        listed = body_of(started + read_until(connection, http_framing.LAST_CHUNK))
        assert connection.recv(1) == b""
    stopped.result(TIMEOUT_S)
    assert len(listed["items"]) == COUNT


def test_a_head_tells_the_length(live: Any) -> None:
    fill(live)
    with live.connect() as connection:
        connection.sendall(GET.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n")
        text = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b"\r\nContent-Length: " in text
    assert text.endswith(b"\r\n\r\n")


def test_a_list_that_cannot_be_made_to_its_end_is_no_whole_list(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    live = serve()
    fill(live, size=1000)
    make = stored_objects.item

    def item(stored: stored_objects.Stored) -> bytes:
        if stored.name == f"c-{COUNT - 1:03}":
            raise RuntimeError("a defect")
        return make(stored)

    monkeypatch.setattr(stored_objects, "item", item)
    with live.connect() as connection:
        connection.sendall(GET + b"\r\n")
        text = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while data := connection.recv(65536):
                text += data
    assert http_framing.LAST_CHUNK not in text
    assert live.call("GET", "/healthz") == (200, b"ok")
