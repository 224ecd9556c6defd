"""The server as a process: its kubeconfigs, its ports, its end."""

import json
import os
import pathlib
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import processes
from harness.client import apis, transports

TIMEOUT_S = 30


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Callable[..., processes.Process]]:
    started: list[processes.Process] = []

    def start_one(*options: str) -> processes.Process:
        argv = processes.command(
            "apiserver",
            "--kubeconfig",
            str(tmp_path / "kubeconfig"),
            "--plain-kubeconfig",
            str(tmp_path / "plain"),
            *options,
        )
        process = processes.start_ready(
            "apiserver",
            argv,
            log=tmp_path / "log",
            ready=tmp_path / f"ready-{len(started)}",
            timeout_s=TIMEOUT_S,
        )
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.kill()


@pytest.fixture
def connect(tmp_path: pathlib.Path) -> Iterator[Callable[[str], apis.Api]]:
    """The API behind one of the kubeconfigs."""
    connected: list[apis.Api] = []

    def connect_one(name: str) -> apis.Api:
        connected.append(apis.Api(transports.connect(tmp_path / name)))
        return connected[-1]

    yield connect_one
    for api in connected:
        api.transport.close()


def server_of(path: pathlib.Path) -> str:
    url: Any = json.loads(path.read_text())["clusters"][0]["cluster"]["server"]
    return str(url)


def test_both_kubeconfigs_work_and_are_nobody_elses_business(
    start: Callable[..., Any], connect: Callable[[str], apis.Api], tmp_path: pathlib.Path
) -> None:
    start()
    for name, scheme in [("kubeconfig", "https://127.0.0.1:"), ("plain", "http://127.0.0.1:")]:
        path = tmp_path / name
        assert path.stat().st_mode & 0o777 == 0o600
        assert server_of(path).startswith(scheme)
        listed = connect(name).list(apis.NAMESPACES)
        assert "default" in [item["metadata"]["name"] for item in listed.items]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_also_under_watches(
    start: Callable[..., Any], connect: Callable[[str], apis.Api], number: signal.Signals
) -> None:
    process = start()
    watch = connect("plain").watch(apis.PODS, resource_version="1")
    os.kill(process.pid, number)
    assert process.wait(timeout_s=TIMEOUT_S) == 0
    assert process.log.read_text() == ""
    assert list(watch) == []  # ended in order: an end that breaks off would raise


@pytest.mark.parametrize("option", ["--port", "--tls-port"])
def test_a_port_in_use_is_one_message(tmp_path: pathlib.Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        argv = processes.command(
            "apiserver", "--kubeconfig", str(tmp_path / "kubeconfig"), option, str(port)
        )
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"flake-hunt: expected to listen on 127.0.0.1:{port}, but address")
    assert "in use" in line
    assert ended.stdout == ""
    assert not (tmp_path / "kubeconfig").exists()


def test_only_loopback_is_served(tmp_path: pathlib.Path) -> None:
    argv = processes.command(
        "apiserver", "--kubeconfig", str(tmp_path / "kubeconfig"), "--host", "0.0.0.0"
    )
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert ended.returncode == 2
    assert "expected a loopback address, got 0.0.0.0" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_bounded_history_is_410_from_its_end_on(
    start: Callable[..., Any], connect: Callable[[str], apis.Api]
) -> None:
    start("--watch-history", "3")
    api = connect("plain")
    version = api.list(apis.LEASES).resource_version
    for number in range(5):
        lease = {"metadata": {"name": f"lease-{number}"}, "spec": {}}
        api.create(apis.LEASES, lease, namespace="default")
    (line,) = api.watch(apis.LEASES, resource_version=version)
    assert json.loads(line)["object"]["code"] == 410
