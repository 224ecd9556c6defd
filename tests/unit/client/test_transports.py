"""Transports: errors without a complete response, and no request is ever sent twice."""

import dataclasses
import socket
import threading
from typing import Any

import pytest

from harness.client import exec_credentials, kubeconfigs, transports
from tests.support import http_answers

POST = transports.Request(method="POST", path="/api/v1/pods", body=b'{"a":1}')
GET = transports.Request(method="GET", path="/api/v1/pods")
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


# ---------------------------------------------------------------- requests


def test_a_request_as_it_is_sent(scripted: Any, transport_to: Any) -> None:
    seen: list[bytes] = []
    server = scripted(http_answers.answering(http_answers.OK, seen))
    identity = exec_credentials.Credentials("secret")
    endpoint = dataclasses.replace(server.endpoint, prefix="/k8s", identity=identity)
    response = transport_to(endpoint).send(POST)
    assert (response.status, response.body) == (200, b"{}")
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /k8s/api/v1/pods HTTP/1.1\r\n")
    for line in (
        b"Authorization: Bearer secret",
        b"Content-Type: application/json",
        b"Accept: application/json",
        b"User-Agent: flake-hunt",
    ):
        assert line in head.split(b"\r\n")
    assert body == b'{"a":1}'


def test_one_connection_is_kept_for_a_thread(scripted: Any, transport_to: Any) -> None:
    seen: list[bytes] = []
    server = scripted(http_answers.answering(http_answers.OK, seen, times=3))
    transport = transport_to(server.endpoint)
    for _ in range(3):
        transport.send(GET)
    assert len(seen) == 3


def test_each_thread_has_a_connection_of_its_own(scripted: Any) -> None:
    here, there = threading.Event(), threading.Event()

    server = scripted(*[http_answers.answering(http_answers.OK)] * 2)
    transport = transports.HttpTransport(server.endpoint)

    def call() -> None:
        transport.send(GET)
        here.set()
        there.wait(20)
        transport.close()

    thread = threading.Thread(target=call)
    thread.start()
    assert here.wait(20)
    transport.send(GET)  # the first connection is not free
    transport.close()
    there.set()
    thread.join(20)


# ---------------------------------------------------------------- no complete response


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        STREAM + b"5\r\nab",
        b"\x16\x03\x01 this is not HTTP\r\n\r\n",
    ],
)
@pytest.mark.parametrize("request_", [POST, GET], ids=["POST", "GET"])
def test_a_lost_answer_leaves_the_outcome_open_and_nothing_is_sent_again(
    scripted: Any, transport_to: Any, answer: bytes, request_: transports.Request
) -> None:
    seen: list[bytes] = []
    again: list[bytes] = []
    server = scripted(
        http_answers.answering(answer, seen), http_answers.answering(http_answers.OK, again)
    )
    transport = transport_to(server.endpoint)
    with pytest.raises(
        transports.TransportError, match="sent, but got no complete response"
    ) as caught:
        transport.send(request_)
    assert caught.value.sent
    assert len(seen) == 1
    assert again == [], "a request was sent again"
    assert transport.send(GET).status == 200  # and the next one is on a new connection
    assert len(again) == 1


def test_a_kept_connection_that_the_server_has_ended_is_no_reason_to_send_twice(
    scripted: Any, transport_to: Any
) -> None:
    again: list[bytes] = []
    ended = threading.Event()

    def answer_and_end(connection: socket.socket) -> None:
        http_answers.answering(http_answers.OK)(connection)
        connection.shutdown(socket.SHUT_RDWR)
        ended.set()

    server = scripted(answer_and_end, http_answers.answering(http_answers.OK, again))
    transport = transport_to(server.endpoint)
    transport.send(GET)
    assert ended.wait(20)
    with pytest.raises(transports.TransportError) as caught:
        transport.send(POST)
    assert caught.value.sent
    assert again == []
    transport.send(GET)


def test_silence_is_a_lost_answer(scripted: Any, transport_to: Any) -> None:
    server = scripted(lambda connection: connection.recv(65536) and connection.recv(1))
    request = transports.Request(method="GET", path="/", timeout_s=0.1)
    with pytest.raises(transports.TransportError) as caught:
        transport_to(server.endpoint).send(request)
    assert caught.value.sent


@pytest.mark.parametrize("call", ["send", "watch"])
def test_a_refused_connection_certainly_sent_nothing(transport_to: Any, call: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # it does not listen, and no other process gets its port
        port = bound.getsockname()[1]
        transport = transport_to(kubeconfigs.Endpoint(host="127.0.0.1", port=port, tls=False))
        with pytest.raises(transports.TransportError) as caught:
            getattr(transport, call)(POST)
    assert not caught.value.sent
    assert f"expected an API server at 127.0.0.1:{port}" in str(caught.value)


def test_a_failed_handshake_certainly_sent_nothing(scripted: Any, transport_to: Any) -> None:
    def speak_plainly(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    server = scripted(speak_plainly)
    endpoint = kubeconfigs.Endpoint(host="127.0.0.1", port=server.port, tls=True, insecure=True)
    with pytest.raises(transports.TransportError) as caught:
        transport_to(endpoint).send(POST)
    assert not caught.value.sent


# ---------------------------------------------------------------- watches


def streaming(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> Any:
    def talk(connection: socket.socket) -> None:
        http_answers.read_request(connection)
        connection.sendall(STREAM)
        for data in chunks:
            connection.sendall(chunk(data))
        connection.sendall(end)

    return talk


@pytest.mark.parametrize(
    "chunks",
    [
        (b"one\ntwo\nthree\n",),
        (b"one\n", b"two\n", b"three\n"),
        (b"on", b"e\ntw", b"o\nthree\n"),
        (b"one\ntwo\nthree",),
    ],
)
def test_lines_are_whole_however_they_come(
    scripted: Any, transport_to: Any, chunks: tuple[bytes, ...]
) -> None:
    server = scripted(streaming(*chunks))
    watch = transport_to(server.endpoint).watch(GET)
    assert watch.status == 200
    assert list(watch) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("end", [b"", b"ff\r\ntorn"])
def test_a_watch_that_breaks_says_so_and_hands_out_no_torn_line(
    scripted: Any, transport_to: Any, end: bytes
) -> None:
    server = scripted(streaming(b"one\ntw", end=end))
    lines = iter(transport_to(server.endpoint).watch(GET))
    assert next(lines) == b"one"
    with pytest.raises(transports.TransportError, match="the watch broke off"):
        next(lines)


def test_a_watch_is_closed_from_another_thread(scripted: Any, transport_to: Any) -> None:
    read = threading.Event()

    def stream(connection: socket.socket) -> None:
        http_answers.read_request(connection)
        connection.sendall(STREAM + chunk(b"one\n"))
        assert connection.recv(1) == b""  # until the client has ended

    server = scripted(stream)
    watch = transport_to(server.endpoint).watch(GET)
    lines = []

    def follow() -> None:
        for line in watch:
            lines.append(line)
            read.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert read.wait(20)
    watch.close()
    thread.join(20)
    assert not thread.is_alive()
    assert lines == [b"one"]
    watch.close()  # again is no harm


def test_a_watch_that_gets_no_answer(scripted: Any, transport_to: Any) -> None:
    server = scripted(http_answers.read_request)
    with pytest.raises(transports.TransportError, match="got no response") as caught:
        transport_to(server.endpoint).watch(GET)
    assert caught.value.sent
