"""Each request gets one answer, before the next one gets any; what cannot be answered so is refused
before it begins.
"""

import re
import socket
from typing import Any

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.server import watch_streams

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
HOST = b"Host: x\r\n"
BEARER = b"Authorization: Bearer secret-of-the-tests\r\n"
HEAD = HOST + BEARER
CLOSE = b"GET /healthz HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n"


def talk(live: Any, text: bytes) -> bytes:
    """All that the server says to this until it closes."""
    with live.connect() as connection:
        connection.sendall(text)
        return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    said = b""
    while data := connection.recv(65536):
        said += data
    return said


def codes(said: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+) ", said)]


# ---------------------------------------------------------------- options


def test_what_goes_wrong_after_the_head_ends_the_connection(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: watch_streams.Watch) -> None:
        raise status_errors.bad_request("too late")

    monkeypatch.setattr(watch_streams.Watch, "_set_timers", fail)
    with live.connect() as connection:
        connection.sendall(f"GET {CONFIGMAPS}?watch=1 HTTP/1.1\r\n".encode() + HEAD + b"\r\n")
        try:
            said = read_all(connection)
        except ConnectionResetError:
            said = b""
    assert b"too late" not in said


# ---------------------------------------------------------------- upgrades


@pytest.mark.parametrize("upgrade", [b"websocket", b"SPDY/3.1", b"h2c, websocket"])
def test_an_upgrade_is_refused_in_one_answer(live: Any, upgrade: bytes) -> None:
    offer = b"Connection: Upgrade\r\nUpgrade: %b\r\n\r\n" % upgrade
    said = talk(live, b"GET /healthz HTTP/1.1\r\n" + HEAD + offer)
    assert codes(said) == [400]
    assert b"upgrades are not served" in said
    assert b"\r\nConnection: close\r\n" in said


# ---------------------------------------------------------------- headers


def test_a_trailer_is_no_header(live: Any) -> None:
    chunked = b"Transfer-Encoding: chunked\r\n\r\n0\r\n%b\r\n"
    text = b"GET /healthz HTTP/1.1\r\n" + HOST + chunked % BEARER
    assert codes(talk(live, text + CLOSE)) == [401, 200]


# ---------------------------------------------------------------- order


def test_what_follows_a_watch_is_not_answered_in_the_middle_of_it(live: Any) -> None:
    watch = f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1 HTTP/1.1\r\n".encode() + HEAD + b"\r\n"
    said = talk(live, watch + b"this is not HTTP\r\n\r\n")
    assert codes(said) == [200]
    assert said.endswith(b"0\r\n\r\n")


def test_after_a_watch_the_connection_serves_the_next_request(live: Any) -> None:
    watch = f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1 HTTP/1.1\r\n".encode() + HEAD + b"\r\n"
    assert codes(talk(live, watch + CLOSE)) == [200, 200]


def test_a_client_that_closes_gets_nothing_after_a_watch(live: Any) -> None:
    watch = f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1 HTTP/1.1\r\n".encode() + HEAD
    said = talk(live, watch + b"Connection: close\r\n\r\n" + CLOSE)
    assert codes(said) == [200]
    assert said.endswith(b"0\r\n\r\n")
