"""The kind provider, against a stand-in for the kind command and one for the container engine
(tests/stand_ins).
"""

import concurrent.futures
import contextlib
import pathlib
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator

import docker
import pytest

from harness import clocks, errors
from harness.client import apis, transports
from harness.cluster import cluster_records, interfaces
from harness.cluster.kind import docker_engine, kind_cluster, kind_config, node_containers
from harness.cluster.lifecycle import held_clusters, prune
from harness.model.objects import Object
from harness.scenario import pool_specs
from tests.stand_ins import standing_in

NOTHING: dict[str, list[str]] = {"containers": [], "volumes": []}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[standing_in.StandIn]:
    with standing_in.started(tmp_path_factory.mktemp("engine")) as made:
        yield made


def use(
    stand_in: standing_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    for name, value in stand_in.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(kind_cluster, "SETTLE_S", 0.3)


@pytest.fixture
def used(
    engine: standing_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> Iterator[standing_in.StandIn]:
    use(engine, monkeypatch, tmp_path)
    yield engine
    engine.clear()


def request(tmp_path: pathlib.Path, name: str = "fh-abc-gw0") -> interfaces.ClusterRequest:
    directory = tmp_path / name
    directory.mkdir()
    return interfaces.ClusterRequest(name=name, directory=directory)


@pytest.mark.parametrize("kill", [True, False])
def test_the_api_server_can_be_restarted_on_its_data(
    used: standing_in.StandIn, tmp_path: pathlib.Path, kill: bool
) -> None:
    provider = kind_cluster.Provider(standing_in.profile())
    assert provider.capabilities.restarts_api_server
    cluster = provider.up(request(tmp_path))
    created = ask(cluster, lambda api: api.create(apis.NAMESPACES, {"metadata": {"name": "kept"}}))
    answers: list[bool] = []
    with watching(cluster, answers):
        cluster.restart_api_server(kill=kill, down_s=0.5)
    assert False in answers, "it was away"
    assert cluster.exit_report() is None
    found = ask(cluster, lambda api: api.get(apis.NAMESPACES, "kept"))
    assert found["metadata"]["uid"] == created["metadata"]["uid"]
    cluster.down()
    assert used.left() == NOTHING


@contextlib.contextmanager
def watching(cluster: interfaces.Cluster, answers: list[bool]) -> Iterator[None]:
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            answers.append(transports.answers(transports.connect(cluster.kubeconfig), "/readyz"))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def ask(cluster: interfaces.Cluster, question: Callable[[apis.Api], Object]) -> Object:
    transport = transports.connect(cluster.kubeconfig)
    try:
        return question(apis.Api(transport))
    finally:
        transport.close()


def test_an_api_server_that_cannot_be_stopped_is_named_and_keeps_its_manifest(
    used: standing_in.StandIn, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = kind_cluster.Provider(standing_in.profile()).up(request(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(node_containers, "_stop_command", lambda _: "crictl stop")
        with pytest.raises(errors.ClusterError, match=r"crictl stop` to succeed .* exit code 127"):
            cluster.restart_api_server(kill=True, down_s=0)
    cluster.restart_api_server(kill=True, down_s=0)
    cluster.down()


def test_a_cluster_comes_answers_and_goes(
    used: standing_in.StandIn, tmp_path: pathlib.Path
) -> None:
    wanted = request(tmp_path)
    provider = kind_cluster.Provider(standing_in.profile())
    provider.check()
    cluster = provider.up(wanted)
    assert cluster.exit_report() is None
    assert used.left()["containers"] == ["/fh-abc-gw0-control-plane"]
    assert len(used.left()["volumes"]) == 1
    api = apis.Api(transports.connect(cluster.kubeconfig))
    assert api.get(apis.NAMESPACES, "default")["kind"] == "Namespace"
    api.transport.close()
    assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600
    assert not (tmp_path / ".kube").exists(), "the user's own kubeconfig is none of our business"
    assert cluster.versions["kind"] == "0.33.0"
    cluster.save_audit_log(wanted.directory / "audit", after=cluster.audit_position())
    cluster.collect_logs(wanted.directory)
    assert b"audit.k8s.io/v1" in (wanted.directory / "audit" / "audit.log").read_bytes()
    assert not (wanted.directory / "kind-logs").exists(), "nothing was wrong"
    cluster.down()
    assert used.left() == NOTHING
    assert not cluster.kubeconfig.exists()
    assert cluster.exit_report() == "the container fh-abc-gw0-control-plane does not run"
    cluster.down()  # again is no harm


def test_another_engine_that_kind_is_told_to_use_elsewhere_is_none_of_ours(
    used: standing_in.StandIn, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its containers would be out of the docker SDK's sight."""
    monkeypatch.setenv("KIND_EXPERIMENTAL_PROVIDER", "podman")
    cluster = kind_cluster.Provider(standing_in.profile()).up(request(tmp_path))
    assert used.left()["containers"] == ["/fh-abc-gw0-control-plane"]
    cluster.down()
    assert used.left() == NOTHING


def test_clusters_side_by_side_do_not_touch_each_other(
    used: standing_in.StandIn, tmp_path: pathlib.Path
) -> None:
    provider = kind_cluster.Provider(standing_in.profile())
    wanted = [request(tmp_path, f"fh-side-gw{number}") for number in range(3)]
    with concurrent.futures.ThreadPoolExecutor(len(wanted)) as threads:
        made = list(threads.map(provider.up, wanted))
    assert len({cluster.kubeconfig for cluster in made}) == 3
    client = used.client()
    assert len([item for item in client.api.networks() if item["Name"] == "kind"]) == 1
    client.close()
    made[0].down()
    assert [cluster.exit_report() is None for cluster in made] == [False, True, True]
    for cluster in made:
        cluster.down()
    assert used.left() == NOTHING


def test_a_name_that_is_taken(used: standing_in.StandIn, tmp_path: pathlib.Path) -> None:
    provider = kind_cluster.Provider(standing_in.profile())
    cluster = provider.up(request(tmp_path, "fh-taken"))
    again = interfaces.ClusterRequest(name="fh-taken", directory=tmp_path / "other")
    again.directory.mkdir()
    with pytest.raises(
        errors.UsageError, match=r"\(fh-taken-control-plane\): `flake-hunt cluster prune`"
    ):
        provider.up(again)
    assert cluster.exit_report() is None, "the refusal has hurt the cluster that is there"
    cluster.down()


def test_a_name_that_somebody_else_has_taken_is_not_harmed(used: standing_in.StandIn) -> None:
    """In another registry, by another user of the same engine: neither the failure nor the next
    prune removes it.
    """
    client: docker.DockerClient = used.client()
    labels = {"io.x-k8s.kind.cluster": "fh-mine"}
    theirs = client.api.create_container(
        "kindest/node:v1.36.0", name="fh-mine-control-plane", labels=labels
    )
    with pytest.raises(errors.UsageError, match="expected no kind cluster 'fh-mine'"):
        held_clusters.up("mine", standing_in.profile(), pool_specs.PoolsSpec(nodes=1))
    assert cluster_records.known() == []
    assert prune.prune() == ([], [])
    assert used.left()["containers"] == ["/fh-mine-control-plane"]
    client.api.remove_container(theirs["Id"])
    client.close()


def test_logs_are_exported_when_the_run_is_failing(
    used: standing_in.StandIn, tmp_path: pathlib.Path
) -> None:
    cluster = kind_cluster.Provider(standing_in.profile()).up(request(tmp_path))
    try:
        raise errors.HarnessError("the run")
    except errors.HarnessError:
        cluster.collect_logs(tmp_path)
    assert (tmp_path / "kind-logs" / cluster.node / "inspect.json").is_file()
    cluster.down()


def failing(
    used: standing_in.StandIn,
    tmp_path: pathlib.Path,
    expected: str,
    **changes: object,
) -> str:
    """The message of a cluster that cannot be had; nothing but logs is left of it."""
    wanted = request(tmp_path)
    with pytest.raises(errors.ClusterError, match=expected) as caught:
        kind_cluster.Provider(standing_in.profile(**changes)).up(wanted)
    assert used.left() == NOTHING
    assert not (wanted.directory / "kubeconfig").exists()
    assert "kind create cluster" in str(caught.value) or "other settings than requested" in str(
        caught.value
    )
    return str(caught.value)


def test_an_image_that_is_not_here_and_cannot_be_pulled(
    used: standing_in.StandIn, tmp_path: pathlib.Path
) -> None:
    image = f"kindest/node:v1.35.8@sha256:{'7' * 64}"
    message = failing(used, tmp_path, "--cluster image_archive=node.tar", image=image)
    assert f'failed to pull image "{image}"' in message


def test_another_version_than_the_profile_says(
    used: standing_in.StandIn, tmp_path: pathlib.Path
) -> None:
    failing(
        used,
        tmp_path,
        r"expected Kubernetes v1\.36\.4, the API server reports v1\.36\.0",
        kubernetes="v1.36.4",
    )


def test_a_node_that_does_not_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    faults = {"console": "Failed to create inotify object: Too many open files\n"}
    with standing_in.started(tmp_path / "engine", faults=faults) as broken:
        use(broken, monkeypatch, tmp_path)
        failing(broken, tmp_path, "could not find a log line that matches")
        exported = tmp_path / "fh-abc-gw0" / "kind-logs" / "fh-abc-gw0-control-plane" / "serial.log"
        assert "inotify" in exported.read_text()


def test_a_kind_that_writes_another_kubeadm_version_is_noticed(
    used: standing_in.StandIn, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch that names a version is dropped without a word by a kind that writes another one."""
    text = kind_config.text

    def versioned(*arguments: object) -> str:
        made = text(*arguments)  # type: ignore[arg-type]
        return made.replace(
            "kind: ClusterConfiguration",
            "apiVersion: kubeadm.k8s.io/v1beta3\n    kind: ClusterConfiguration",
        )

    monkeypatch.setattr(kind_config, "text", versioned)
    theirs = failing(used, tmp_path, "has other settings than requested", claim_controller=True)
    assert "kube-controller-manager: expected --kube-api-qps=1000, got no such flag" in theirs
    (tmp_path / "fh-abc-gw0").rename(tmp_path / "first")
    message = failing(used, tmp_path, "the kind cluster has other settings than requested")
    assert (
        "kube-apiserver: expected --audit-log-path=/var/log/kubernetes/audit/audit.log, got no such flag"
        in message
    )
    assert "kube-controller-manager: expected --controllers=" in message
    assert "got --controllers=*,bootstrapsigner,tokencleaner" in message


@pytest.mark.parametrize(("kubernetes", "version"), [("v1.35.8", "0.33.0"), ("v1.36.0", "0.31.0")])
def test_patches_take_effect_whatever_kubeadm_version_kind_writes(
    kubernetes: str, version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """v1beta3 before Kubernetes 1.36 and with kind before 0.32; everywhere else in this file
    v1beta4 with its lists.
    """
    image = {**standing_in.NODE_IMAGE, "Kubernetes": kubernetes}
    monkeypatch.setenv("STAND_IN_KIND_VERSION", version)
    with standing_in.started(tmp_path / "engine", images=[image]) as engine:
        use(engine, monkeypatch, tmp_path)
        profile = standing_in.profile(kind_min="0.31.0")
        cluster = kind_cluster.Provider(profile).up(request(tmp_path))
        cluster.down()
        assert engine.left() == NOTHING


def test_an_engine_on_cgroup_v1_whose_kubelet_would_refuse_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    with standing_in.started(tmp_path / "engine", describe={"CgroupVersion": "1"}) as stand_in:
        use(stand_in, monkeypatch, tmp_path)
        cluster = kind_cluster.Provider(standing_in.profile()).up(request(tmp_path))
        with docker_engine.connected() as engine:
            config = engine.read(cluster.node, "/var/lib/kubelet/config.yaml")
        assert config is not None
        assert b"failCgroupV1: false" in config
        cluster.down()
        assert stand_in.left() == NOTHING


@pytest.mark.parametrize(
    ("kubernetes", "message"),
    [
        ("v1.36.0", "failed to init node with kubeadm"),
        ("v1.34.11", "kubelet: expected failCgroupV1: false in .*, got null"),
    ],
)
def test_a_patch_of_the_kubelet_that_did_not_match_is_told(
    kubernetes: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """A kubelet that starts all the same is found by its configuration."""
    text = kind_config.text

    def versioned(*arguments: object) -> str:
        return text(*arguments).replace("kind: Kubelet", "apiVersion: v0\n    kind: Kubelet")  # type: ignore[arg-type]

    monkeypatch.setattr(kind_config, "text", versioned)
    image = {**standing_in.NODE_IMAGE, "Kubernetes": kubernetes}
    engine = standing_in.started(
        tmp_path / "engine", images=[image], describe={"CgroupVersion": "1"}
    )
    with engine as stand_in:
        use(stand_in, monkeypatch, tmp_path)
        failing(stand_in, tmp_path, message)


def test_an_archive_instead_of_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    archive = standing_in.image_archive(tmp_path / "node.tar")
    with standing_in.started(tmp_path / "engine", images=[]) as engine:
        use(engine, monkeypatch, tmp_path)
        provider = kind_cluster.Provider(standing_in.profile(image_archive=str(archive)))
        provider.check()
        cluster = provider.up(request(tmp_path))
        assert cluster.exit_report() is None
        cluster.down()


def test_an_archive_that_is_not_there(used: standing_in.StandIn, tmp_path: pathlib.Path) -> None:
    profile = standing_in.profile(image_archive=str(tmp_path / "no.tar"))
    with pytest.raises(errors.UsageError, match="expected an image archive"):
        kind_cluster.Provider(profile).check()


def test_names(tmp_path: pathlib.Path) -> None:
    assert node_containers.cluster_name("mine") == "fh-mine"
    assert node_containers.cluster_name("fh-1234-gw0") == "fh-1234-gw0"
    with pytest.raises(errors.UsageError, match="at most 50 characters"):
        node_containers.cluster_name("x" * 48)


def test_a_container_that_somebody_else_is_removing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """The engine answers 409, and the volumes are in use until it is done."""
    with standing_in.started(tmp_path / "engine", faults={"removal in progress": "once"}) as engine:
        use(engine, monkeypatch, tmp_path)
        cluster = kind_cluster.Provider(standing_in.profile()).up(request(tmp_path))
        cluster.down()
        assert engine.left() == NOTHING


def pruned(used: standing_in.StandIn, names: list[str], *, older_than_s: float | None) -> set[str]:
    client: docker.DockerClient = used.client()
    for name in names:
        labels = {"io.x-k8s.kind.cluster": name}
        client.api.create_container("kindest/node:v1.36.0", name=name, labels=labels)
    assert not prune.prune(older_than_s=older_than_s)[1]
    left = {item["Names"][0].removeprefix("/") for item in client.api.containers(all=True)}
    for name in left:
        client.api.remove_container(name)
    client.close()
    return set(names) - left


FOREIGN = ["kind", "my-fh-cluster", "fh-mine", "fh-0a1b2c3d", "fh-0a1b2c3d-gw0"]


def test_prune_leaves_what_may_be_somebody_elses(
    used: standing_in.StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pruned(used, FOREIGN, older_than_s=None) == set()
    later = clocks.wall_ns() + 3 * 3600 * 10**9
    monkeypatch.setattr(clocks, "wall_ns", lambda: later)
    assert pruned(used, FOREIGN, older_than_s=None) == {"fh-0a1b2c3d", "fh-0a1b2c3d-gw0"}


def test_prune_of_everything_that_has_our_prefix(used: standing_in.StandIn) -> None:
    assert pruned(used, FOREIGN, older_than_s=0) == {"fh-mine", "fh-0a1b2c3d", "fh-0a1b2c3d-gw0"}
