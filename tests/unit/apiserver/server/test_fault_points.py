"""Faults on a real server, as far as it takes real connections; see test_fault_scripts.py."""

import asyncio
import contextlib
import http.client
import os
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from harness.apiserver.endpoints import responses
from harness.apiserver.server import connections, identities
from tests.support import faulty_servers, protobuf_messages
from tests.support.faulty_servers import CONFIGMAPS, FAULTS, VICTIM, applied, begin


def test_without_the_option_there_is_no_such_path(live: Any) -> None:
    assert live.call("GET", FAULTS)[0] == 404
    assert live.call("POST", FAULTS, {"point": "request", "action": {"type": "lose"}})[0] == 404


def test_names_in_protobuf_are_read_too(faulty: Any) -> None:
    match = {"userAgent": "victim", "name": "a"}
    begin(faulty, "request", {"type": "reject", "code": 500}, match=match)
    newest = faulty.call("GET", CONFIGMAPS)[1]["metadata"]["resourceVersion"]
    headers = VICTIM | {"Content-Type": responses.PROTOBUF}
    for name, expected in (("a", 500), ("b", 201)):
        document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}
        body = protobuf_messages.encode(document)
        assert faulty.call("POST", CONFIGMAPS, body, headers=headers)[0] == expected
    (entry,) = applied(faulty)
    assert entry["facts"]["resourceVersion"] == int(newest)


@pytest.fixture
def tls_port(faulty: Any) -> Iterator[int]:
    certificate = identities.make_certificate("127.0.0.1")
    factory = lambda: connections.Connection(faulty.server)  # noqa: E731

    async def listen() -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            factory, "127.0.0.1", 0, ssl=certificate.context()
        )

    listener = asyncio.run_coroutine_threadsafe(listen(), faulty._loop).result(20)
    yield listener.sockets[0].getsockname()[1]
    faulty.run(listener.close)


def test_a_body_is_cut_and_the_connection_is_reset_with_tls_too(faulty: Any, tls_port: int) -> None:
    document = {"metadata": {"name": "a"}, "data": {"x": "x" * 100_000}}
    assert faulty.call("POST", CONFIGMAPS, document)[0] == 201
    begin(faulty, "response", {"type": "truncate"})
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    asked = http.client.HTTPSConnection("127.0.0.1", tls_port, context=context, timeout=20)
    with contextlib.closing(asked) as connection:
        authorization = {"Authorization": f"Bearer {faulty_servers.TOKEN}"}
        connection.request("GET", f"{CONFIGMAPS}/a", headers=VICTIM | authorization)
        text = b""
        while len(text.partition(b"\r\n\r\n")[2]) < 50_000:
            text += connection.sock.recv(1 << 20)
        connection.sock.settimeout(None)  # else the descriptor does not wait
        with pytest.raises(ConnectionResetError):  # read below TLS, which says EOF for it
            os.read(connection.sock.fileno(), 1)
    assert len(text) < 60_000
