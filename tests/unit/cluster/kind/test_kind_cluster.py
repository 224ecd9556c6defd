"""The kind provider, with an engine and a kind command in this process; with the real ones:
tests/e2e/clusters/test_kind.py.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from harness import errors
from harness.client import apis, transports
from harness.cluster import cluster_records, embedded_cluster, interfaces, providers
from harness.cluster.kind import (
    docker_engine,
    kind_cluster,
    kind_command,
    kind_config,
    node_containers,
)
from harness.cluster.lifecycle import held_clusters
from harness.scenario import pool_specs, profiles

NAME = "fh-abc-gw0"
NODE = f"{NAME}-control-plane"


class Engine:
    """A container engine, and the kind command that makes nodes there."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        self.kubeconfig, self.cgroup_version = kubeconfig, "2"
        self.drops_patches = self.fails = False
        self.containers: dict[str, str] = {}
        """Id -> kind cluster."""
        self.files: dict[str, bytes] = {}
        self.executed: list[list[str]] = []

    # ------------------------------------------------------- as docker_engine.Engine

    def describe(self) -> dict[str, Any]:
        return {"ServerVersion": "29.0.1", "CgroupVersion": self.cgroup_version}

    def nodes(self, cluster: str) -> list[docker_engine.Container]:
        found = [one for one, name in self.containers.items() if name == cluster]
        return [docker_engine.Container(id=one, name=one, running=True) for one in found]

    def remove(self, container: docker_engine.Container) -> None:
        del self.containers[container.id]

    def has_network(self) -> bool:
        return True

    def load(self, archive: pathlib.Path) -> str:
        return f"image of {archive.name}"

    def read(self, container: str, path: str) -> bytes | None:
        assert container == NODE
        return self.files.get(path)

    def save_folder(self, container: str, path: str, to: pathlib.Path) -> None:
        to.mkdir(parents=True)
        (to / "audit.log").write_bytes(self.read(container, f"{path}/audit.log") or b"")

    def execute(self, container: str, command: list[str]) -> None:
        assert container == NODE
        self.executed.append(command)

    # ------------------------------------------------------------- as kind_command

    def create(
        self, name: str, *, config: pathlib.Path, kubeconfig: pathlib.Path, **_: Any
    ) -> None:
        [node] = yaml.safe_load(config.read_text())["nodes"]
        patches = map(yaml.safe_load, [] if self.drops_patches else node["kubeadmConfigPatches"])
        patch = {document.pop("kind"): document for document in patches}
        cluster = patch.get("ClusterConfiguration", {})
        for component, key in (
            ("apiserver", "apiServer"),
            ("controller-manager", "controllerManager"),
        ):
            flags = cluster.get(key, {}).get("extraArgs", {})
            words = [f"kube-{component}", *(f"--{flag}={value}" for flag, value in flags.items())]
            manifest = {"spec": {"containers": [{"command": words}]}}
            path = f"{node_containers.MANIFESTS}/kube-{component}.yaml"
            self.files[path] = yaml.safe_dump(manifest).encode()
        kubelet = yaml.safe_dump(patch.get("KubeletConfiguration", {})).encode()
        self.files |= {kind_config.KUBELET_CONFIG_FILE: kubelet, kind_config.AUDIT_FILE: b"{}\n"}
        self.containers[f"{name}-control-plane"] = name
        if self.fails:
            raise errors.ClusterError("`kind create cluster` failed: no space left")
        kubeconfig.write_bytes(self.kubeconfig.read_bytes())


@pytest.fixture
def engine(
    cluster: embedded_cluster.EmbeddedCluster,
    monkeypatch: pytest.MonkeyPatch,
    state_home: pathlib.Path,
) -> Engine:
    made = Engine(cluster.kubeconfig)

    @contextlib.contextmanager
    def connected(**_: Any) -> Iterator[Engine]:
        yield made

    def export_logs(name: str, to: pathlib.Path, *, log: pathlib.Path) -> None:
        to.mkdir(parents=True)
        (to / "journal.log").write_text(name)

    monkeypatch.setattr(docker_engine, "connected", connected)
    monkeypatch.setattr(kind_command, "version", lambda *, at_least: at_least)
    monkeypatch.setattr(kind_command, "create", made.create)
    monkeypatch.setattr(kind_command, "export_logs", export_logs)
    monkeypatch.setattr(kind_cluster, "SETTLE_S", 0.0)
    return made


@pytest.fixture
def served(api: apis.Api) -> str:
    """The version of the API server."""
    request = transports.Request(method="GET", path="/version")
    version: str = yaml.safe_load(api.transport.send(request).body)["gitVersion"]
    return version.partition("+")[0]


def provider(version: str, *overrides: str) -> interfaces.Provider:
    return providers.of(profiles.load("kind", overrides=[f"kubernetes={version}", *overrides]))


@pytest.fixture
def request_(tmp_path: pathlib.Path) -> interfaces.ClusterRequest:
    (tmp_path / "one").mkdir()
    return interfaces.ClusterRequest(name=NAME, directory=tmp_path / "one")


@pytest.fixture
def one(engine: Engine, served: str, request_: interfaces.ClusterRequest) -> interfaces.Cluster:
    return provider(served).up(request_)


def test_a_cluster_comes_answers_and_goes(
    engine: Engine, served: str, request_: interfaces.ClusterRequest
) -> None:
    provider(served).check()
    cluster = provider(served).up(request_)
    assert cluster.exit_report() is None
    assert provider(served).is_there(request_)
    assert cluster.versions["kubernetes"] == served
    assert cluster.versions["container engine"] == "29.0.1"
    cluster.save_audit_log(request_.directory / "audit", after=cluster.audit_position())
    assert (request_.directory / "audit" / "audit.log").read_bytes() == b"{}\n"
    cluster.collect_logs(request_.directory)
    assert not (request_.directory / "kind-logs").exists(), "nothing was wrong"
    cluster.down()
    assert engine.containers == {}
    assert not cluster.kubeconfig.exists()
    assert cluster.exit_report() == f"the container {NODE} does not run"
    cluster.down()  # again is no harm


def test_logs_are_exported_when_the_run_is_failing(
    one: interfaces.Cluster, request_: interfaces.ClusterRequest
) -> None:
    try:
        raise errors.HarnessError("the run")
    except errors.HarnessError:
        one.collect_logs(request_.directory)
    assert (request_.directory / "kind-logs" / "journal.log").read_text() == NAME


def test_a_name_that_somebody_else_has_taken_is_not_harmed(
    engine: Engine, served: str, request_: interfaces.ClusterRequest
) -> None:
    engine.containers = {"theirs": NAME, "mine": "fh-mine"}
    with pytest.raises(errors.UsageError, match=r"\(theirs\): `flake-hunt cluster prune`"):
        provider(served).up(request_)
    with pytest.raises(errors.UsageError, match="expected no kind cluster 'fh-mine'"):
        held_clusters.up("mine", profiles.load("kind"), pool_specs.PoolsSpec(nodes=1))
    assert cluster_records.known() == []
    assert len(engine.containers) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drops_patches": True}, "kube-apiserver: expected --audit-log-path=/var/log/"),
        ({"drops_patches": True}, "kube-controller-manager: expected --controllers="),
        (
            {"drops_patches": True, "cgroup_version": "1"},
            "kubelet: expected failCgroupV1: false in /var/lib/kubelet/config.yaml, got null",
        ),
        ({"fails": True}, "`kind create cluster` failed: no space left"),
    ],
)
def test_a_cluster_that_cannot_be_had_leaves_its_logs(
    engine: Engine,
    served: str,
    request_: interfaces.ClusterRequest,
    change: dict[str, Any],
    words: str,
) -> None:
    vars(engine).update(change)
    with pytest.raises(errors.ClusterError) as caught:
        provider(served).up(request_)
    assert words in str(caught.value)
    assert engine.containers == {}
    assert not (request_.directory / "kubeconfig").exists()
    assert (request_.directory / "kind-logs" / "journal.log").exists()


def test_another_version_than_the_profile_says(
    engine: Engine, served: str, request_: interfaces.ClusterRequest
) -> None:
    with pytest.raises(
        errors.ClusterError, match=f"expected Kubernetes v1.35.99, the API server reports {served}"
    ):
        provider("v1.35.99").up(request_)
    assert engine.containers == {}


@pytest.mark.parametrize(("kill", "timeout_s"), [(True, 0), (False, 15)])
def test_the_api_server_is_stopped_while_its_manifest_is_away(
    engine: Engine, one: interfaces.Cluster, served: str, kill: bool, timeout_s: int
) -> None:
    assert provider(served).capabilities.restarts_api_server
    end = one.restart_api_server(kill=kill, down_s=0.0)
    assert end.alive_ns <= end.dead_ns
    away, (*_, stop), back = engine.executed
    assert away == ["mv", node_containers.MANIFEST, node_containers.PARKED]
    assert stop.startswith(f"crictl stop --timeout {timeout_s} ")
    assert back == ["mv", node_containers.PARKED, node_containers.MANIFEST]


def test_an_api_server_that_cannot_be_stopped_keeps_its_manifest(
    engine: Engine, one: interfaces.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(_: str, command: list[str]) -> None:
        engine.executed.append(command)
        if command[0] == "sh":
            raise errors.ClusterError("expected `crictl stop` to succeed")

    monkeypatch.setattr(engine, "execute", execute)
    with pytest.raises(errors.ClusterError, match="crictl stop"):
        one.restart_api_server(kill=True, down_s=0)
    assert engine.executed[-1] == ["mv", node_containers.PARKED, node_containers.MANIFEST]


def test_what_a_dead_owner_left_is_reaped(
    engine: Engine, served: str, request_: interfaces.ClusterRequest
) -> None:
    provider(served).up(request_)
    provider(served).reap(request_)
    assert engine.containers == {}
    assert not (request_.directory / "kubeconfig").exists()


def test_an_archive_instead_of_a_network(
    engine: Engine, served: str, request_: interfaces.ClusterRequest, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(errors.UsageError, match="expected an image archive"):
        provider(served, f"image_archive={tmp_path / 'node.tar'}").check()
    (tmp_path / "node.tar").touch()
    provider(served, f"image_archive={tmp_path / 'node.tar'}").up(request_)
    config = yaml.safe_load((request_.directory / "kind.yaml").read_text())
    assert config["nodes"][0]["image"] == "image of node.tar"


def test_names() -> None:
    assert node_containers.cluster_name("mine") == "fh-mine"
    assert node_containers.cluster_name("fh-1234-gw0") == "fh-1234-gw0"
    with pytest.raises(errors.UsageError, match="at most 50 characters"):
        node_containers.cluster_name("x" * 48)
