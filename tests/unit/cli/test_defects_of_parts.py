"""Defects and nodes that a command cannot use: exit code 2, and one message with what is known."""

import pathlib
from collections.abc import Iterator

import pytest

from harness import errors, processes
from harness.client import apis, transports
from harness.cluster.dra import node_claims
from harness.cluster.fake_nodes import kubelet_process
from harness.run.defects import known_defects
from harness.scenario import driver_specs
from tests.support import api_objects

TIMEOUT_S = 60


def test_defects_of_the_kubelet_can_be_combined() -> None:
    known_defects.require_combinable(["driver-released-first", "driver-stale-parameters"])
    known_defects.require_combinable(["kubelet-forgets-claims", "driver-stale-parameters"])


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """An API server with two fake nodes, and one that is not fake."""
    folder = tmp_path_factory.mktemp("server")
    plain, ready = folder / "plain", folder / "ready"
    argv = processes.command(
        "part",
        "apiserver",
        "--kubeconfig",
        str(folder / "kubeconfig"),
        "--set",
        f"plain_kubeconfig={plain}",
        "--set",
        f"ready_file={ready}",
    )
    server = processes.start_ready(
        "apiserver", argv, log=folder / "log", ready=ready, timeout_s=TIMEOUT_S
    )
    transport = transports.connect(plain)
    for name in ("worker-0", "worker-1", "real"):
        node = api_objects.node(name)
        if name != "real":
            node["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
        apis.Api(transport).create(apis.NODES, node)
    transport.close()
    yield plain
    server.kill()


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("worker-2", r"got 'worker-2'. Known: worker-0, worker-1. Did you mean 'worker-1'\?"),
        ("real", r"expected fake nodes of this cluster for --node, got 'real'. Known: worker-0"),
    ],
)
def test_a_kubelet_for_a_node_that_is_not_there(
    kubeconfig: pathlib.Path, node: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for of_a_process in ("StopEvent", "end_on_thread_failure"):
        monkeypatch.setattr(processes, of_a_process, lambda *_: None)
    claims = node_claims.NodeClaimsOptions(driver=driver_specs.DriverSpec())
    options = kubelet_process.KubeletOptions(
        kubeconfig=kubeconfig, claims=claims, only_nodes=("worker-0", node)
    )
    with pytest.raises(errors.UsageError, match=message):
        kubelet_process.run(options)
