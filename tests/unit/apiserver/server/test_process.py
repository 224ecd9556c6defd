"""The server as a process: its kubeconfigs, its ports, its end."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from harness import processes
from harness.client import apis, transports
from tests.support import api_servers
from tests.support.called_commands import FlakeHunt

TIMEOUT_S = 30


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Callable[..., processes.Process]]:
    started: list[processes.Process] = []

    def start_one(*options: str | pathlib.Path) -> processes.Process:
        started.append(api_servers.start(tmp_path, *options))
        return started[-1]

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


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> FlakeHunt:
    """The command in this process, for what it refuses before it is a server."""
    return FlakeHunt(monkeypatch, capsys)


@pytest.mark.parametrize("option", ["port", "tls_port"])
def test_a_port_in_use_is_one_message(tmp_path: pathlib.Path, option: str) -> None:
    path = tmp_path / "kubeconfig"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ("--kubeconfig", str(path), "--set", f"{option}={port}")
        argv = processes.command("part", "apiserver", *words)
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"flake-hunt: expected to listen on 127.0.0.1:{port}, but address")
    assert "in use" in line
    assert not path.exists()


FILES = ["kubeconfig", "plain_kubeconfig", "audit_log"]


@pytest.mark.parametrize("option", FILES)
@pytest.mark.parametrize("kind", ["folder", "below a file"])
def test_a_file_that_cannot_be_written_is_one_message(
    called: FlakeHunt, tmp_path: pathlib.Path, option: str, kind: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    path = tmp_path / ("folder" if kind == "folder" else "file/x")
    words = ["--kubeconfig", tmp_path / "other", "--set", f"{option}={path}"]
    words = words if option != "kubeconfig" else ["--kubeconfig", path]
    code, out, err = called("part", "apiserver", *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert str(path) in line


def test_only_loopback_is_served(called: FlakeHunt, tmp_path: pathlib.Path) -> None:
    server = ("part", "apiserver", "--kubeconfig", tmp_path / "other", "--set")
    code, _, err = called(*server, "host=0.0.0.0")
    assert code == 2
    assert "expected a loopback address, got 0.0.0.0" in err
    assert "is_open=true" in err
    code, _, err = called(*server, "host=example.org")
    assert code == 2
    assert "expected an IP address for host" in err


def test_a_server_that_a_user_starts_says_how_to_use_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "kubeconfig"
    argv = processes.command("part", "apiserver", "--kubeconfig", str(path))
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        server.send_signal(signal.SIGINT)
    assert line == (
        f"flake-hunt: ready: kubectl --kubeconfig {path} get nodes; Ctrl-C ends the server\n"
    )
    assert server.returncode == 0


def test_an_open_server_is_open_by_tls_only(
    start: Callable[..., Any], connect: Callable[[str], apis.Api], tmp_path: pathlib.Path
) -> None:
    process = start("--set", "host=0.0.0.0", "--set", "is_open=true")
    listening = {
        connection.laddr.ip
        for connection in psutil.Process(process.pid).net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"0.0.0.0", "127.0.0.1"}
    assert server_of(tmp_path / "plain").startswith("http://127.0.0.1:")
    assert server_of(tmp_path / "kubeconfig").startswith("https://127.0.0.1:")
    assert connect("kubeconfig").list(apis.NAMESPACES).items


# ---------------------------------------------------------------- a data directory


def lease(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {}}


def test_kubeconfigs_objects_and_versions_outlive_the_process(
    start: Callable[..., Any],
    connect: Callable[[str], apis.Api],
    tmp_path: pathlib.Path,
) -> None:
    options = ("--data-dir", tmp_path / "data")
    process = start(*options)
    names = ("kubeconfig", "plain")
    kept = [(tmp_path / name).read_text() for name in names]
    made = connect("plain").create(apis.LEASES, lease("a"), namespace="default")
    process.kill()
    start(*options)
    assert [(tmp_path / name).read_text() for name in names] == kept
    for name in names:
        assert connect(name).get(apis.LEASES, "a", namespace="default") == made
    second = connect("plain").create(apis.LEASES, lease("b"), namespace="default")
    versions = [int(item["metadata"]["resourceVersion"]) for item in (made, second)]
    assert versions[1] == versions[0] + 1


def test_a_port_that_is_taken_meanwhile_is_said(
    start: Callable[..., Any], connect: Callable[[str], apis.Api], tmp_path: pathlib.Path
) -> None:
    start("--data-dir", tmp_path / "data").kill()
    port = int(server_of(tmp_path / "plain").rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        process = start("--data-dir", tmp_path / "data")
    assert f"port {port} of the last run is taken" in process.log.read_text()
    assert connect("plain").list(apis.NAMESPACES).items


def test_a_log_that_cannot_be_written_ends_the_server_and_loses_nothing(
    start: Callable[..., Any], connect: Callable[[str], apis.Api], tmp_path: pathlib.Path
) -> None:
    data = tmp_path / "data"
    process = start("--data-dir", data)
    size_max = sum(path.stat().st_size for path in data.iterdir()) + 20_000
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size_max, size_max))
    api, told = connect("plain"), 0
    with contextlib.suppress(transports.TransportError):
        while told < 1000:
            api.create(apis.LEASES, lease(f"lease-{told}"), namespace="default")
            told += 1
    assert 0 < told < 1000
    assert process.wait(timeout_s=TIMEOUT_S) == 1
    assert "expected to write" in process.log.read_text()
    assert "Traceback" not in process.log.read_text()
    start("--data-dir", data)
    listed = connect("plain").list(apis.LEASES, namespace="default")
    names = {item["metadata"]["name"] for item in listed.items}
    assert names == {f"lease-{number}" for number in range(told)}


def test_damaged_tokens_are_one_message(
    start: Callable[..., Any], called: FlakeHunt, tmp_path: pathlib.Path
) -> None:
    start("--data-dir", tmp_path / "data").kill()
    (tmp_path / "data" / "identity.json").write_text("{")
    words = ("--kubeconfig", tmp_path / "other", "--data-dir", tmp_path / "data")
    code, out, err = called("part", "apiserver", *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert "expected the tokens and certificates of the server in" in line
