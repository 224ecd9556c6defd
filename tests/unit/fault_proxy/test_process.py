"""The proxy as a process: what it refuses, how it ends, and what it leaves behind."""

import base64
import contextlib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
from collections.abc import Callable
from concurrent import futures
from typing import Any

import pytest

from harness import errors, processes, tls_authorities
from harness.client import apis, kubeconfigs, transports
from harness.fault_proxy import process
from tests.support import fault_proxies
from tests.unit.fault_proxy import proxies

Change = Callable[[dict[str, Any]], object]


def refused(settings: pathlib.Path) -> errors.HarnessError:
    """The error of a proxy that does not start; nothing is left of it."""
    before = set(settings.parent.iterdir())
    with pytest.raises(errors.HarnessError) as raised:
        process.serve(settings, ready_file=None, note=print)
    assert set(settings.parent.iterdir()) == before
    return raised.value


def refused_as_process(settings: pathlib.Path) -> tuple[int, str]:
    """The exit code and the message of a process that does not start; nothing is left of it."""
    before = set(settings.parent.iterdir())
    ended = subprocess.run(
        processes.command("part", "fault-proxy", str(settings)),
        capture_output=True,
        text=True,
        timeout=proxies.TIMEOUT_S,
        check=False,
    )
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
    assert set(settings.parent.iterdir()) == before
    return ended.returncode, ended.stderr


def edit(settings: pathlib.Path, change: Change) -> pathlib.Path:
    document = json.loads(settings.read_text())
    change(document)
    settings.write_text(json.dumps(document))
    return settings


# ------------------------------------------------------------------ bad input


def test_a_settings_file_that_is_missing(tmp_path: pathlib.Path) -> None:
    code, text = refused_as_process(tmp_path / "nothing.json")
    assert code == 2
    assert "nothing.json: No such file or directory" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document["clients"].clear(), "length >= 1"),
        (lambda document: document.pop("admin"), "missing required field `admin`"),
        (lambda document: document.update(extra=1), "unknown field `extra`"),
        (lambda document: document["clients"][0].update(kubeconfig=1), "expected a path"),
        (lambda document: document["clients"][0].update(port=70000), "<= 65535"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: pathlib.Path, change: Change, message: str) -> None:
    settings = fault_proxies.settings_file(tmp_path, tmp_path / "upstream", proxies.SCHEDULER)
    error = refused(edit(settings, change))
    assert error.exit_code == 2
    assert message in str(error)


OTHER = base64.b64encode(tls_authorities.Authority("other", days=1).certificate).decode()


@pytest.mark.parametrize(
    ("section", "change", "code", "words"),
    [
        ("", {"kind": "Pod"}, 2, "expected a kubeconfig (kind Config), got another document"),
        ("cluster", {"server": "https://127.0.0.1:1"}, 1, "an API server at 127.0.0.1:1"),
        ("cluster", {"server": "https://127.0.0.1:1"}, 1, "Connection refused"),
        ("cluster", {"certificate-authority-data": OTHER}, 1, "certificate verify failed"),
        ("user", {"token": "wrong"}, 1, "it answered 401: renew them"),
    ],
)
def test_an_api_server_that_cannot_be_used(
    folder: pathlib.Path,
    server: apis.Api,
    tmp_path: pathlib.Path,
    section: str,
    change: dict[str, str],
    code: int,
    words: str,
) -> None:
    document = json.loads((folder / "tls").read_text())
    changed = document[f"{section}s"][0][section] if section else document
    changed.update(change)
    (tmp_path / "upstream").write_text(json.dumps(document))
    error = refused(fault_proxies.settings_file(tmp_path, tmp_path / "upstream", proxies.SCHEDULER))
    assert error.exit_code == code
    assert words in str(error)


@pytest.mark.parametrize("part", ["client", "admin"])
def test_a_port_that_is_taken(
    folder: pathlib.Path,
    server: apis.Api,
    tmp_path: pathlib.Path,
    part: str,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        def change(document: dict[str, Any]) -> None:
            section = document["clients"][0] if part == "client" else document["admin"]
            section["port"] = port

        settings = fault_proxies.settings_file(tmp_path, folder / "tls", proxies.SCHEDULER)
        code, text = refused_as_process(edit(settings, change))
    assert code == 2
    assert f"expected to listen on 127.0.0.1:{port}, but address already in use" in text


# ----------------------------------------------------------------------- ends


def test_its_kubeconfigs_are_private_and_hold_no_credentials_of_the_cluster(
    folder: pathlib.Path, server: apis.Api, tmp_path: pathlib.Path
) -> None:
    document = json.loads((folder / "tls").read_text())
    document["contexts"][0]["context"]["namespace"] = "of-the-context"
    (tmp_path / "upstream").write_text(json.dumps(document))
    with proxies.running(tmp_path, tmp_path / "upstream") as proxy:
        for path in (proxy.kubeconfig(), tmp_path / "admin.kubeconfig"):
            assert path.stat().st_mode & 0o777 == 0o600
            assert document["users"][0]["user"]["token"] not in path.read_text()
        (context,) = json.loads(proxy.kubeconfig().read_text())["contexts"]
        assert context["context"]["namespace"] == "of-the-context"
        assert "namespace" not in (tmp_path / "admin.kubeconfig").read_text()


@pytest.mark.parametrize(
    ("request_line", "token", "code"),
    [
        ("GET /flake-hunt/v1/faults", "", 401),
        ("DELETE /flake-hunt/v1/faults", "Bearer wrong", 401),
        ("GET /version", None, 404),
        ("GET /flake-hunt/v1/faults/none", None, 404),
        ("PUT /flake-hunt/v1/faults", None, 404),
        ("POST /flake-hunt/v1/faults", None, 400),
        ("GET /flake-hunt/v1/applied?after=x", None, 400),
        ("GET /flake-hunt/v1/faults", None, 200),
    ],
)
def test_the_admin_api_answers(
    proxy: proxies.Proxy, request_line: str, token: str | None, code: int
) -> None:
    endpoint = kubeconfigs.load(proxy.folder / "admin.kubeconfig")
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=proxies.TIMEOUT_S)
    given = f"Bearer {endpoint.identity.token}" if token is None else token
    with contextlib.closing(connection):
        method, path = request_line.split(" ")
        connection.request(method, path, b"{}", {"Authorization": given})
        response = connection.getresponse()
        assert response.status == code
        assert code == 200 or json.loads(response.read())["code"] == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(
    own_proxy: proxies.Proxy, server: apis.Api, number: signal.Signals
) -> None:
    """It passes all that it holds, ends the open watch, and leaves no file."""
    writes = own_proxy.add("request", {"type": "block"}, match={"verbs": ["create"]})
    events = own_proxy.add("event", {"type": "delay", "seconds": 3600})
    late, made = (f"{what}-until-{number.name.lower()}" for what in ("late", "held"))
    version = server.list(proxies.CONFIG_MAPS, namespace="default").resource_version
    with proxies.connection(own_proxy.kubeconfig()) as (connection, _):
        connection.connect()
        connection.sock.sendall(b"GET / HTTP/9.9\r\n\r\n")
        assert connection.sock.recv(4) == b"HTTP"
    with own_proxy.api() as api, futures.ThreadPoolExecutor() as pool:
        watch = api.watch(proxies.CONFIG_MAPS, resource_version=version, namespace="default")
        proxies.create(server, late)
        with own_proxy.api() as writer:
            held = pool.submit(proxies.create, writer, made)
            own_proxy.wait_held(writes)
            own_proxy.wait_held(events)
            subprocess.run(["kill", f"-{int(number)}", str(own_proxy.process.pid)], check=True)
            assert held.result(proxies.TIMEOUT_S)["metadata"]["name"] == made
        assert own_proxy.process.wait(timeout_s=proxies.TIMEOUT_S) == 0
        shown = [json.loads(line) for line in watch]  # a broken one raises
        names = [it["object"]["metadata"]["name"] for it in shown if it["type"] == "ADDED"]
        assert names[0] == late
    assert made in proxies.names(server)
    assert not own_proxy.kubeconfig().exists()
    assert not (own_proxy.folder / "admin.kubeconfig").exists()
    assert own_proxy.process.log_tail() == "(it printed nothing)"


def test_it_goes_on_when_the_api_server_was_killed_and_is_back(tmp_path: pathlib.Path) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    server = proxies.start_server(tmp_path, *data)
    with proxies.running(tmp_path, tmp_path / "tls") as proxy, proxy.api() as api:
        proxies.create(api, "before")
        watch = api.watch(proxies.CONFIG_MAPS, resource_version="1", namespace="default")
        server.kill()
        with pytest.raises(transports.TransportError):
            list(watch)
        for _ in range(2):
            with pytest.raises(transports.TransportError):
                proxies.create(api, "meanwhile")
        server = proxies.start_server(tmp_path, *data)
        proxies.create(api, "after")
        assert {"before", "after"} <= proxies.names(api)
        assert "no response of the API server" in proxy.process.log_tail()
        assert len(proxy.process.log_tail().splitlines()) == 1
    server.kill()
