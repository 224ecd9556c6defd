"""Watches that never read: what waits for them is held once, not once for each."""

import contextlib
import json
import pathlib
import socket

import psutil

from tests.fuzzing import wires

WATCHES, WRITES, BYTES = 100, 300, 20_000
HELD_ONCE = WRITES * BYTES
HELD_FOR_EACH = WATCHES * HELD_ONCE
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
TRANSPORTS = WATCHES * 300_000
"""A transport holds up to about this much of its own: its buffer, and room for its growth."""


def test_memory_does_not_grow_with_the_number_of_deaf_watches(tmp_path: pathlib.Path) -> None:
    server = wires.Server(tmp_path)
    process = psutil.Process(server.process.pid)
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(WATCHES):
                connection = stack.enter_context(deaf(server))
                head = server.head("GET", f"{CONFIGMAPS}?watch=1")
                connection.sendall(head)
            before = process.memory_info().rss
            for number in range(WRITES):
                write(server, number)
            grown = process.memory_info().rss - before
        assert server.send("GET", "/readyz").status == 200
    finally:
        server.stop()
    # the history of the watches holds each object as well
    assert grown < 3 * HELD_ONCE + TRANSPORTS < HELD_FOR_EACH / 8


def deaf(server: wires.Server) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((server.endpoint.host, server.endpoint.port))
    return connection


def write(server: wires.Server, number: int) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"x{number}"},
        "data": {"a": "x" * BYTES},
    }
    answer = server.send("POST", CONFIGMAPS, json.dumps(document).encode())
    assert answer.status == 201
