"""Each request gets one answer, before the next one gets any; what cannot be answered so is refused
before it begins.
"""

import contextlib
import json
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.server import servers, watch_streams

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
HOST = b"Host: x\r\n"
BEARER = b"Authorization: Bearer secret-of-the-tests\r\n"
HEAD = HOST + BEARER
CLOSE = b"GET /healthz HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n"
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"


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


def test_connect_is_refused_in_one_answer(live: Any) -> None:
    assert codes(talk(live, b"CONNECT x:1 HTTP/1.1\r\n" + HEAD + b"\r\n" + CLOSE)) == [400]


@pytest.mark.parametrize("upgrade", [b"h2c", b"H2C"])
def test_http2_that_is_offered_is_not_taken(live: Any, upgrade: bytes) -> None:
    offer = H2C.replace(b"h2c", upgrade)
    said = talk(live, b"GET /healthz HTTP/1.1\r\n" + HEAD + offer + b"\r\n" + CLOSE)
    assert codes(said) == [200, 200]


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_with_an_offer_of_http2_is_read(live: Any, is_chunked: bool, step: int) -> None:
    body = b'{"metadata": {"name": "upgraded"}}'
    framing = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    if is_chunked:
        framing = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    text = b"POST %b HTTP/1.1\r\n" % CONFIGMAPS.encode() + HEAD + H2C + framing + CLOSE
    with live.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(text), step):
            connection.sendall(text[start : start + step])
        assert codes(read_all(connection)) == [201, 200]
    assert live.call("GET", f"{CONFIGMAPS}/upgraded")[0] == 200


# ---------------------------------------------------------------- headers


def test_of_a_repeated_header_the_first_value_counts(live: Any) -> None:
    accepted = b"Accept: application/json\r\nAccept: application/vnd.kubernetes.protobuf\r\n"
    said = talk(
        live, b"GET /api/v1/pods HTTP/1.1\r\n" + HEAD + accepted + b"Connection: close\r\n\r\n"
    )
    assert b"Content-Type: application/json\r\n" in said


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


def test_a_refusal_waits_for_the_answers_before_it(live: Any) -> None:
    for number in range(200):
        live.call(
            "POST", CONFIGMAPS, {"metadata": {"name": f"c{number}"}, "data": {"x": "x" * 999}}
        )
    long = f"GET {CONFIGMAPS} HTTP/1.1\r\n".encode() + HEAD + b"\r\n"
    said = talk(live, long + long + b"this is not HTTP\r\n\r\n")
    assert codes(said) == [200, 200, 400]
    assert said.count(b"0\r\n\r\nHTTP/1.1 ") == 2  # both lists are whole


def test_a_client_of_http_1_0_gets_no_chunks(live: Any) -> None:
    for number in range(101):
        live.call("POST", CONFIGMAPS, {"metadata": {"name": f"c{number}"}})
    said = talk(live, f"GET {CONFIGMAPS} HTTP/1.0\r\n".encode() + HEAD + b"\r\n")
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding" not in head
    assert len(json.loads(body)["items"]) == 101


def test_a_client_of_http_1_0_gets_no_watch(live: Any) -> None:
    said = talk(live, f"GET {CONFIGMAPS}?watch=1 HTTP/1.0\r\n".encode() + HEAD + b"\r\n")
    assert codes(said) == [505]
    assert b"Transfer-Encoding" not in said


def test_leave_to_go_on_waits_for_the_answers_before_it(live: Any) -> None:
    post = b"POST %b HTTP/1.1\r\n" % CONFIGMAPS.encode() + HEAD + b"Content-Length: 2\r\n"
    with live.connect() as connection:
        connection.sendall(post + b"\r\n{}" + post + b"Expect: 100-continue\r\n\r\n")
        said = b""
        while b"100 Continue\r\n\r\n" not in said:
            said += connection.recv(65536)
        assert codes(said) == [422, 100]
        connection.sendall(b"{}" + CLOSE)
        assert codes(read_all(connection)) == [422, 200]


def test_who_said_that_it_closes_gets_no_second_answer(live: Any) -> None:
    assert codes(talk(live, CLOSE + b"GET /healthz HTTP/1.1\r\n\r\n")) == [200]


@pytest.mark.parametrize("option", ["watch=1", "watch=1&timeoutSeconds=5"])
def test_half_a_request_behind_a_watch_is_no_timeout_in_it(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(servers, "CHECK_INTERVAL_S", 0.01)
    limits = servers.Limits(request_timeout_s=0.0)
    live = serve(make_parts=lambda: servers.ServerParts(limits=limits))
    with live.connect() as connection:
        text = f"GET {CONFIGMAPS}?{option} HTTP/1.1\r\n".encode() + HEAD + b"\r\nGET / HT"
        connection.sendall(text)
        said = connection.recv(65536)
        while live.run(lambda: any(item._refusal is None for item in live.server._connections)):
            pass  # the check comes every hundredth of a second
        live.run(live.server.abort_all)
        with contextlib.suppress(ConnectionResetError):
            said += read_all(connection)
    assert codes(said) == [200]
