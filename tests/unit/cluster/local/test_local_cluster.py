"""Local control planes: a real etcd, and a stand-in for kube-apiserver. With a real one:
tests/e2e/clusters/test_local.py.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import psutil
import pytest

from harness import clocks, errors
from harness.client import apis
from harness.cluster import interfaces, providers
from harness.cluster.fake_nodes import fake_world
from harness.cluster.local import binaries, control_plane, local_cluster
from harness.scenario import pool_specs, profiles
from tests.support import real_programs

MANAGER = "kube-controller-manager"
needs_binaries = real_programs.needs("etcd", "kube-apiserver")
needs_manager = real_programs.needs("etcd", "kube-apiserver", MANAGER)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """The binaries, without kube-controller-manager."""
    made = tmp_path / "binaries"
    made.mkdir()
    link(made, "etcd", "kube-apiserver")
    return made


def link(folder: pathlib.Path, *names: str) -> None:
    for name in names:
        program = real_programs.find(name)
        if program is not None:
            (folder / name).symlink_to(program)


@pytest.fixture
def up(folder: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Callable[..., interfaces.Cluster]]:
    started: list[interfaces.Cluster] = []

    def start(name: str = "one", **changes: object) -> interfaces.Cluster:
        directory = tmp_path / name
        directory.mkdir()
        request = interfaces.ClusterRequest(
            name=f"{name}-{os.getpid()}-{tmp_path.name}"[:40], directory=directory
        )
        started.append(provider(folder, **changes).up(request))
        return started[-1]

    yield start
    for cluster in started:
        cluster.down()


def provider(folder: pathlib.Path, **changes: object) -> interfaces.Provider:
    overrides = [f"binaries={json.dumps(str(folder))}"]
    overrides += [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    return providers.of(profiles.load("local", overrides=overrides))


# ------------------------------------------------------------------------------ it works


@needs_binaries
@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_a_cluster_comes_answers_and_goes(
    up: Callable[..., interfaces.Cluster],
    folder: pathlib.Path,
    tmp_path: pathlib.Path,
    storage: str,
) -> None:
    cluster = up(storage=storage)
    assert isinstance(cluster, local_cluster.LocalCluster)
    assert cluster.exit_report() is None
    for name, version in cluster.versions.items():
        assert version == binaries.version(folder / name)
    spec = pool_specs.PoolsSpec(nodes=2, devices_per_node=2)
    on = provider(pathlib.Path()).capabilities
    with apis.connected(cluster.kubeconfig) as api:
        world = fake_world.publish(api, spec, namespace="run", run_id="r", on=on)
        taints = [node["spec"].get("taints") for node in api.list(apis.NODES).items]
        assert not any(taints), "without a node-lifecycle controller nobody else takes them away"
        fake_world.remove(api, world)
    files, running = cluster.files, [psutil.Process(pid) for pid in cluster.pids]
    assert files.data.is_dir()
    assert (files.data.parent == control_plane.MEMORY) is (storage == "memory")
    assert all(path.stat().st_mode & 0o077 == 0 for path in files.secrets.glob("*.key"))
    cluster.down()
    psutil.wait_procs(running, timeout=30)
    assert cluster.exit_report() is not None
    assert not files.data.exists()
    assert not files.secrets.exists()
    assert not cluster.kubeconfig.exists()
    left = {path.name for path in (tmp_path / "one").iterdir()}
    assert left == {"etcd.log", "kube-apiserver.log", "audit-policy.yaml"}


@needs_binaries
@pytest.mark.parametrize("kill", [True, False])
def test_the_api_server_can_be_restarted_on_its_data(
    up: Callable[..., interfaces.Cluster], kill: bool
) -> None:
    cluster = up()
    assert provider(pathlib.Path()).capabilities.restarts_api_server
    with apis.connected(cluster.kubeconfig) as api:
        created = api.create(apis.NAMESPACES, {"metadata": {"name": "kept"}})
    server, etcd = cluster.pids
    seen: list[str | None] = []
    with _watching(cluster, seen):
        cluster.restart_api_server(kill=kill, down_s=0.5)
    assert set(seen) == {None}, "a restart that was asked for is no death"
    with apis.connected(cluster.kubeconfig) as api:
        found = api.get(apis.NAMESPACES, "kept")
    assert found["metadata"]["uid"] == created["metadata"]["uid"]
    assert cluster.pids[1] == etcd
    assert cluster.pids[0] != server
    os.kill(cluster.pids[0], signal.SIGKILL)
    clocks.wait_until(cluster.exit_report, timeout_s=30, why="its death to be reported")


@contextlib.contextmanager
def _watching(cluster: interfaces.Cluster, seen: list[str | None]) -> Iterator[None]:
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            seen.append(cluster.exit_report())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@needs_manager
def test_with_a_controller_manager_namespaces_go_by_themselves(
    up: Callable[..., interfaces.Cluster], folder: pathlib.Path
) -> None:
    link(folder, MANAGER)
    cluster = up(controller_manager=True)
    assert set(cluster.versions) == {"etcd", "kube-apiserver", MANAGER}
    assert len(cluster.pids) == 3
    on = provider(folder, controller_manager=True).capabilities
    assert on.claim_controller
    assert on.namespace_controller
    spec = pool_specs.PoolsSpec(nodes=1)
    with apis.connected(cluster.kubeconfig) as api:
        fake_world.remove(api, fake_world.publish(api, spec, namespace="run", run_id="r", on=on))
        with pytest.raises(apis.ApiError):
            api.get(apis.NAMESPACES, "run")


@needs_manager
def test_the_controller_manager_can_be_ended_paused_and_started_again(
    up: Callable[..., interfaces.Cluster], folder: pathlib.Path
) -> None:
    link(folder, MANAGER)
    cluster = up(controller_manager=True)
    name = provider(folder, controller_manager=True).capabilities.claim_controller_process
    process = cluster.controlled(name)
    for kill in (True, False):
        before = cluster.pids[0]
        process.end(kill=kill)
        assert not psutil.pid_exists(before)
        assert cluster.exit_report() is None, "a fault ended it"
        process.start_again()
        assert cluster.pids[0] != before
    process.pause()
    assert psutil.Process(cluster.pids[0]).status() == psutil.STATUS_STOPPED
    process.resume()
    assert psutil.Process(cluster.pids[0]).status() != psutil.STATUS_STOPPED
    os.kill(cluster.pids[0], signal.SIGKILL)
    clocks.wait_until(
        lambda: "kube-controller-manager ended" in (cluster.exit_report() or ""),
        timeout_s=30,
        why="its end to be reported",
    )


@needs_manager
@pytest.mark.parametrize("managed", [True, False])
def test_garbage_is_collected_where_the_controller_manager_is_found(
    managed: bool, up: Callable[..., interfaces.Cluster], folder: pathlib.Path
) -> None:
    if managed:
        link(folder, MANAGER)
    cluster = up()
    on = provider(folder).capabilities
    assert (on.garbage_collector, on.namespace_controller) == (managed, managed)
    assert not on.claim_controller
    assert (MANAGER in cluster.versions) is managed
    with apis.connected(cluster.kubeconfig) as api:
        fake_world.plant_garbage(api, "default", run_id="r")
        if managed:
            clocks.wait_until(
                lambda: fake_world.is_garbage_collected(api, "default"), timeout_s=30, why="its end"
            )
        else:
            assert not fake_world.is_garbage_collected(api, "default")


@needs_binaries
def test_a_port_that_is_taken_meanwhile_is_no_failure(
    up: Callable[..., interfaces.Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    free = local_cluster._free_ports
    with socket.create_server(("127.0.0.1", 0)) as taken:
        offered = iter([taken.getsockname()[1]])

        def ports(*names: str) -> dict[str, int]:
            found = free(*names)
            return {**found, "apiserver": next(offered, found["apiserver"])}

        monkeypatch.setattr(local_cluster, "_free_ports", ports)
        assert up().exit_report() is None


@needs_binaries
def test_a_memory_that_is_too_small_for_etcd_is_left_alone(
    up: Callable[..., interfaces.Cluster], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /dev/shm is in a container."""
    free = shutil.disk_usage(control_plane.MEMORY).free
    monkeypatch.setattr(control_plane, "MEMORY_FREE_MIN_BYTES", free * 2)
    cluster = up(storage="memory")
    assert isinstance(cluster, local_cluster.LocalCluster)
    assert cluster.files.data == tmp_path / "one" / "etcd-data"


@needs_binaries
def test_what_a_dead_owner_left_is_reaped_by_the_request_alone(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    directory = tmp_path / "one"
    directory.mkdir()
    request = interfaces.ClusterRequest(name=f"reaped-{tmp_path.name}"[-40:], directory=directory)
    cluster = provider(folder).up(request)
    assert isinstance(cluster, local_cluster.LocalCluster)
    assert provider(folder).is_there(request)
    for pid in cluster.pids:
        for process in [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]:
            process.kill()
    for component in cluster.running:
        component.process.kill()
    provider(folder).reap(request)
    assert not cluster.files.data.exists()
    assert not cluster.kubeconfig.exists()
    assert not provider(folder).is_there(request)


# ---------------------------------------------------------------------------- it does not


def fake(folder: pathlib.Path, name: str, text: str, mode: int = 0o755) -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_binaries_that_are_missing_come_with_where_to_get_them(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match="expected the binary etcd in") as caught:
        provider(tmp_path).check()
    assert "setup-envtest" in str(caught.value)


def test_the_places_that_envtest_looks_at(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake(tmp_path, "kube-apiserver", "#!/bin/sh\necho Kubernetes v1.35.8\n")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(binaries, "ASSETS_FOLDER", tmp_path / "no")
    monkeypatch.delenv(binaries.ASSETS_VARIABLE, raising=False)
    monkeypatch.delenv(binaries.BINARIES_VARIABLE, raising=False)
    with pytest.raises(errors.UsageError, match=r"KUBEBUILDER_ASSETS \(not set\) and PATH"):
        binaries.find("kube-apiserver")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binaries.find("kube-apiserver") == path
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(tmp_path))
    assert binaries.find("kube-apiserver") == path


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("#!/bin/sh\necho etcd Version: 3.5.16\n", 0o644, "chmod +x"),
        ("\x7fELF not of this machine", 0o755, "expected a binary for this machine"),
        ("#!/bin/sh\necho etcd Version: 3.3.27\n", 0o755, "etcd v3.4.0 or newer, got v3.3.27"),
        (
            "#!/bin/sh\necho hello\n",
            0o755,
            "to print its version, but it printed 'hello' (exit code 0)",
        ),
        ("#!/bin/sh\nexit 3\n", 0o755, "it printed 'nothing' (exit code 3)"),
    ],
)
def test_binaries_that_are_wrong(
    tmp_path: pathlib.Path, text: str, mode: int, message: str
) -> None:
    fake(tmp_path / "b", "etcd", text, mode)
    with pytest.raises(errors.UsageError) as caught:
        provider(tmp_path / "b").check()
    assert message in str(caught.value)


@needs_binaries
def test_an_api_server_that_refuses_its_flags_says_why_and_nothing_is_left(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    script = "#!/bin/sh\n[ $1 = --version ] && echo Kubernetes v1.36.4 && exit 0\n"
    script += "echo 'Error: unknown flag: --bind-address' >&2; exit 1\n"
    fake(folder, "kube-apiserver", script)
    directory = tmp_path / "one"
    directory.mkdir()
    before = set(psutil.Process().children())
    request = interfaces.ClusterRequest(name=f"refuses-{tmp_path.name}"[-40:], directory=directory)
    with pytest.raises(errors.ClusterError) as caught:
        provider(folder).up(request)
    assert "kube-apiserver to start, but it ended with exit code 1" in str(caught.value)
    assert "unknown flag: --bind-address" in str(caught.value)
    assert set(psutil.Process().children()) <= before
    left = {path.name for path in directory.iterdir()}
    assert left == {"etcd.log", "kube-apiserver.log", "audit-policy.yaml"}


# ----------------------------------------------------------------------- command lines


def test_the_command_lines_say_what_the_profile_says(tmp_path: pathlib.Path) -> None:
    files = control_plane.Files(logs=tmp_path, data_folders=(tmp_path / "m", tmp_path / "d"))
    ports = control_plane.Ports(etcd=1, etcd_peer=2, apiserver=3)
    text = ["feature_gates.B=false", "feature_gates.A=true", "audit_log=false"]
    text += ["watch_cache=off", "priority_and_fairness=true", 'runtime_config={"api/alpha"="true"}']
    profile = profiles.load("local", overrides=text)
    assert isinstance(profile, profiles.LocalProfile)
    argv = control_plane.apiserver(tmp_path, files, ports, profile)
    assert "--feature-gates=A=true,B=false" in argv
    assert "--runtime-config=api/alpha=true" in argv
    assert "--watch-cache=false" in argv
    assert f"--client-ca-file={tmp_path}/secrets/authority.crt" in argv
    assert not any("audit" in word or "inflight" in word for word in argv)
    etcd = control_plane.etcd(tmp_path, files, ports, no_fsync=True)
    assert "--unsafe-no-fsync=true" in etcd
    manager = control_plane.controller_manager(tmp_path, files, profile)
    assert "--leader-elect=false" in manager
    assert {"--kube-api-qps=1000", "--kube-api-burst=2000"} <= set(manager)
    assert f"--controllers={','.join(control_plane.COLLECTORS)}" in manager
    whole = profile.model_copy(update={"controller_manager": True})
    manager = control_plane.controller_manager(tmp_path, files, whole)
    assert not any("controllers" in word for word in manager)
    without = whole.model_copy(update={"claim_controller": False})
    manager = control_plane.controller_manager(tmp_path, files, without)
    without_ours = "-resourceclaim-controller,-device-taint-eviction-controller"
    assert f"--controllers=*,{without_ours}" in manager, "ours does the work of both"
