"""Clients of faults are led through the carrier, by kubeconfigs that name them."""

import json
import pathlib
import types
from typing import Any

import msgspec
import pytest

from harness.apiserver.server import identities
from harness.faults import api_calls
from harness.run.faulting import carriers, injecting, injector
from harness.scenario import script_specs
from tests.unit.run.faulting import fake_parts

FOREIGN = "claim-controller"
KEYS = {"stale-list": {"seconds": 5}}


class Processes:
    """Supervisor and processes, of which every call is kept."""

    def __init__(self) -> None:
        self.led: dict[str, pathlib.Path] = {}
        self.started: list[Any] = []

    def foreign_clients(self) -> list[str]:
        return [FOREIGN]

    def lead_through(self, kubeconfigs: dict[str, pathlib.Path]) -> None:
        self.led |= kubeconfigs

    def start_part(self, *given: Any) -> None:
        self.started.append(given)

    def wait_ready(self, name: str) -> None:
        self.started.append(name)


def led(folder: pathlib.Path, carrier: str, patch: pytest.MonkeyPatch, kind: str) -> Any:
    """The processes of a run with three faults, and its stage."""
    patch.setattr(carriers, "AdminCarrier", lambda _: fake_parts.FakeCarrier())
    for name, address in (("plain", "127.0.0.1:1"), ("user", "127.0.0.1:2")):
        identities.write(folder / name, address, "secret")
    of_traffic, of_run = (
        fake_parts.fault("a", kind, **KEYS.get(kind, {})),
        fake_parts.fault("b", "kill-process"),
    )
    clients = ["scheduler", f"{FOREIGN}.2", "scheduler"]
    faults = [
        msgspec.structs.replace(of_traffic, clients=clients),
        msgspec.structs.replace(of_run, clients=["kubelet"]),
        msgspec.structs.replace(of_run, kind=script_specs.JOURNAL, clients=["recorder"]),
    ]
    cluster = types.SimpleNamespace(kubeconfig=folder / "plain", user_kubeconfig=folder / "user")
    parts = fake_parts.stage(folder, Processes(), faults=faults, cluster=cluster)
    del parts.connected, parts.path, parts.guard
    parts.plan.carrier = carrier
    stage = injecting.Stage(**vars(parts), scenario=types.SimpleNamespace())  # type: ignore[arg-type]
    return parts.processes, injector.led(stage)


def test_the_server_knows_its_clients_by_their_kubeconfigs(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, stage = led(tmp_path, "server", monkeypatch, "lose-response")
    assert list(processes.led) == ["scheduler", f"{FOREIGN}.2", "recorder"]
    for client, path in processes.led.items():
        document = json.loads(path.read_text())
        assert document["users"][0]["user"]["as"] == api_calls.user_of(client)
        port = 2 if client.startswith(FOREIGN) else 1
        assert document["clusters"][0]["cluster"]["server"] == f"http://127.0.0.1:{port}"
    assert (processes.started, stage.session.problem) == ([], "")


@pytest.mark.parametrize("kind", ["lose-response", "stale-list"])
def test_the_proxy_has_a_kubeconfig_for_each_client(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    identities.write(tmp_path / "proxy-admin", "127.0.0.1:3", "secret")
    monkeypatch.setattr("harness.cluster.cluster_records.PROXY_KUBECONFIG", "proxy-")
    processes, stage = led(tmp_path, "proxy", monkeypatch, kind)
    clients = ["scheduler", f"{FOREIGN}.2", "recorder"]
    assert processes.led == {client: tmp_path / f"proxy-{client}" for client in clients}
    (name, part, path), ready = processes.started
    assert (name, part, ready) == (injector.PROXY, "fault-proxy", injector.PROXY)
    settings = json.loads(path.read_text())
    assert [item["name"] for item in settings["clients"]] == clients
    assert {item["kubeconfig"] for item in settings["clients"]} == {str(tmp_path / "plain")}
    assert settings["clients"][0]["proxied_kubeconfig"] == str(tmp_path / "proxy-scheduler")
    assert settings["admin"] == {"kubeconfig": str(tmp_path / "proxy-admin")}
    assert settings["notes_versions"] is (kind == "stale-list")
    assert stage.session is not None


def test_without_a_carrier_nobody_is_led(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, stage = led(tmp_path, "", monkeypatch, "lose-response")
    assert (processes.led, processes.started, stage.session) == ({}, [], None)
