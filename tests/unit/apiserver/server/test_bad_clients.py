"""Idle clients, deaf ones and malformed requests, on a real process: the others are served, and its
memory stays as it was.
"""

import contextlib
import pathlib
from collections.abc import Iterator

import psutil
import pytest

from bench import clients
from harness import processes
from harness.apiserver.codec import json_codec

TIMEOUT_S = 30
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
GROWTH_BYTES_MAX = 16_000_000
"""Two thousand clients that were not forgotten would cost more than twice as much."""


@pytest.fixture
def process(tmp_path: pathlib.Path) -> Iterator[processes.Process]:
    argv = processes.command(
        "part",
        "apiserver",
        *("--kubeconfig", str(tmp_path / "tls"), "--set", f"plain_kubeconfig={tmp_path / 'plain'}"),
    )
    process = processes.start_ready(
        "apiserver",
        argv,
        log=tmp_path / "log",
        ready=tmp_path / "ready",
        timeout_s=TIMEOUT_S,
    )
    yield process
    process.kill()


def write(client: clients.Client, name: str, count: int) -> None:
    bodies = [
        {"metadata": {"name": f"{name}-{n}"}, "data": {"x": "x" * 1000}} for n in range(count)
    ]
    took = client.send_all(
        client.request("POST", CONFIGMAPS, json_codec.encode(body)) for body in bodies
    )
    assert len(took) == count


def test_bad_clients_cost_the_others_nothing(
    process: processes.Process, tmp_path: pathlib.Path
) -> None:
    client = clients.Client(tmp_path / "plain")
    write(client, "before", 50)
    memory = psutil.Process(process.pid)
    before = memory.memory_info().rss
    with contextlib.ExitStack() as stack:
        stack.enter_context(client.idle(100))
        stack.enter_context(client.deaf(CONFIGMAPS))
        (watch,) = stack.enter_context(client.watching(CONFIGMAPS, 1))
        client.malformed(1000)
        write(client, "after", 50)
        events = b""
        while events.count(b'"type":"ADDED"') < 50:
            events += watch.recv(65536)
    client.malformed(1000)
    assert memory.memory_info().rss - before < GROWTH_BYTES_MAX
    assert process.log.read_text() == ""
