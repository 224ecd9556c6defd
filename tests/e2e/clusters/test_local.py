"""End to end on real binaries, without Docker: `make e2e-local`. Skips, and says why, where a
binary is missing.

etcd and kube-apiserver are needed; kube-controller-manager and kube-scheduler are tested when they
are there too. They are looked for in KUBE_BINARIES, KUBEBUILDER_ASSETS and PATH.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.client import apis, transports
from harness.cluster.local import binaries
from tests.e2e import running
from tests.support import real_programs

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        os.environ.get("E2E") != "local",
        reason="end to end on local binaries is run by: make e2e-local",
    ),
    real_programs.needs("etcd", "kube-apiserver"),
]


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: pathlib.Path) -> Iterator[None]:
    """Neither data in memory nor a process, whatever a test does in between."""
    yield
    running.run(tmp_path, "cluster", "prune")
    assert not running.in_memory(tmp_path, "local")


def flake_hunt(folder: pathlib.Path, *arguments: str, expected: int = 0) -> str:
    code, output = running.run(folder, *arguments)
    assert code == expected, output
    return output


@contextlib.contextmanager
def cluster(folder: pathlib.Path, *options: str) -> Iterator[apis.Api]:
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}

    def command(*arguments: str) -> str:
        argv = [sys.executable, "-m", "harness.cli.main", "cluster", *arguments]
        ended = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    command("up", "local", "--cluster", "local", "--nodes", "2", *options)
    try:
        kubeconfig = pathlib.Path(command("kubeconfig", "local"))
        with running.api(kubeconfig) as api:
            yield api
    finally:
        command("down", "local")


@pytest.mark.parametrize("auth", ["client-certificate", "token"])
def test_it_is_the_server_that_its_binary_says(tmp_path: pathlib.Path, auth: str) -> None:
    said = binaries.version(binaries.find("kube-apiserver"))
    with cluster(tmp_path, "--cluster", f"auth={auth}") as api:
        answer = api.transport.send(transports.Request(method="GET", path="/version"))
        assert json.loads(answer.body)["gitVersion"].startswith(said.rpartition(".")[0])
        nodes = api.list(apis.NODES).items
        assert [node["metadata"]["name"] for node in nodes] == ["worker-0", "worker-1"]
        assert not any(node["spec"].get("taints") for node in nodes)
        assert len(api.list(apis.SLICES).items) == 2


def test_it_refuses_strangers(tmp_path: pathlib.Path) -> None:
    with cluster(tmp_path, "--cluster", "auth=token"):
        (path,) = tmp_path.rglob("kubeconfig")
        document = json.loads(path.read_text())
        document["users"][0]["user"] = {"token": "guessed"}
        stranger = tmp_path / "stranger"
        stranger.write_text(json.dumps(document))
        with running.api(stranger) as api, pytest.raises(apis.ApiError) as caught:
            api.list(apis.NODES)
        assert caught.value.code == 401


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_a_run_is_valid_and_keeps_its_logs(tmp_path: pathlib.Path, storage: str) -> None:
    scenario = str(running.scenario(tmp_path))
    options = ("--cluster", "local", "--cluster", f"storage={storage}")
    assert "VALID" in flake_hunt(tmp_path, "run", scenario, *options, *running.LONGER)
    logs = running.run_directory(tmp_path) / "logs" / "cluster"
    kept = {path.name for path in logs.iterdir()}
    assert kept >= {"etcd.log", "kube-apiserver.log"}
    assert "resourceclaims" in running.text(logs.parents[1] / "audit" / "audit.log")
    assert not list(logs.rglob("*.key"))


def test_a_known_defect_is_caught(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    control = ("--defect", "gather-not-atomic", "--until-found", "--cluster", "local")
    flake_hunt(tmp_path, "run", scenario, *control, expected=10)


def test_a_killed_run_is_pruned(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    with running.started(tmp_path, "run", scenario, "--cluster", "local") as command:
        command.wait_for_other("traffic.locust_process")
        command.process.send_signal(signal.SIGKILL)
        command.process.wait(60)
        flake_hunt(tmp_path, "cluster", "prune")
        command.require_alone()
    assert not list(tmp_path.rglob("*.key"))
