"""The embedded API server ended and started again: its data, addresses, credentials and remains."""

import contextlib
import pathlib
import socket
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import psutil
import pytest

from harness import clocks, errors
from harness.client import apis, backoffs, transports
from harness.cluster import embedded_cluster, interfaces, loopback_ports, providers
from harness.scenario import profiles

TIMEOUT_S = 30
ON_DISK = profiles.load("embedded", overrides=["storage=disk"])
Cluster = embedded_cluster.EmbeddedCluster


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "cluster"


@pytest.fixture
def cluster(folder: pathlib.Path) -> Iterator[Cluster]:
    made = providers.up(ON_DISK, interfaces.ClusterRequest(name="one", directory=folder))
    assert isinstance(made, Cluster)
    yield made
    made.down()


def create(cluster: Cluster, name: str) -> Any:
    with apis.connected(cluster.kubeconfig) as api:
        return api.create(apis.NODES, {"metadata": {"name": name}})


def nodes(path: pathlib.Path) -> object:
    with apis.connected(path) as api:
        return [node["metadata"]["name"] for node in api.list(apis.NODES).items]


@pytest.mark.parametrize("kill", [False, True])
def test_after_a_restart_everything_is_as_before(cluster: Cluster, kill: bool) -> None:
    kubeconfigs = [cluster.kubeconfig, cluster.user_kubeconfig]
    texts = [path.read_text() for path in kubeconfigs]
    create(cluster, "before")
    (pid,) = cluster.pids
    cluster.restart_api_server(kill=kill, down_s=0.0)
    assert cluster.pids != [pid]
    assert not psutil.pid_exists(pid)
    assert cluster.exit_report() is None
    create(cluster, "after")
    assert [path.read_text() for path in kubeconfigs] == texts
    assert [nodes(path) for path in kubeconfigs] == [["after", "before"]] * 2


def test_two_restarts_come_one_after_the_other(cluster: Cluster) -> None:
    with futures.ThreadPoolExecutor() as pool:
        restarts = [
            pool.submit(cluster.restart_api_server, kill=True, down_s=0.3) for _ in range(2)
        ]
    ends = [restart.result() for restart in restarts]
    first, second = sorted(ends, key=lambda end: end.dead_ns)
    assert second.dead_ns - first.dead_ns > 0.3e9, "the first is back before the second begins"
    assert cluster.exit_report() is None
    create(cluster, "after")


def test_after_a_restart_everyone_may_be_refused_for_a_while(tmp_path: pathlib.Path) -> None:
    """As by a kube-apiserver whose authorizer has not read the roles yet; not at the first
    start.
    """
    profile = profiles.load("embedded", overrides=["storage=disk", "roles_late_s=0.5"])
    made = providers.up(profile, interfaces.ClusterRequest(name="two", directory=tmp_path / "c"))
    assert isinstance(made, Cluster)
    try:
        create(made, "before")
        made.restart_api_server(kill=True, down_s=0.0)
        with pytest.raises(apis.ApiError, match="403 Forbidden") as caught:
            nodes(made.kubeconfig)
        assert backoffs.is_transient(caught.value)
        with contextlib.closing(transports.connect(made.kubeconfig)) as transport:
            request = transports.Request(method="GET", path="/readyz")
            assert transport.send(request).status == 200
        clocks.wait_until(lambda: _sees(made.kubeconfig), timeout_s=TIMEOUT_S, why="the roles")
    finally:
        made.down()


def _sees(path: pathlib.Path) -> bool:
    try:
        return nodes(path) == ["before"]
    except apis.ApiError:
        return False


def begin_restart(cluster: Cluster, *, down_s: float) -> threading.Thread:
    """Restart it in a thread; return once it is down."""
    (pid,) = cluster.pids
    options = {"kill": True, "down_s": down_s}
    restart = threading.Thread(target=cluster.restart_api_server, kwargs=options)
    restart.start()
    clocks.wait_until(lambda: not psutil.pid_exists(pid), timeout_s=TIMEOUT_S, why="its end")
    return restart


def test_its_end_is_not_reported_while_it_is_restarted(cluster: Cluster) -> None:
    seen: list[str | None] = []
    restart = begin_restart(cluster, down_s=0.3)
    while restart.is_alive():
        seen.append(cluster.exit_report())
        clocks.sleep(0.01)
    assert set(seen) == {None}
    create(cluster, "one")
    cluster.server.process.kill()
    assert cluster.exit_report() is not None


def test_while_it_is_down_it_refuses_connections_and_its_ports_are_kept(cluster: Cluster) -> None:
    ports = cluster.ports()
    cluster.server.process.kill()
    with loopback_ports.kept(ports):
        for port in ports:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((loopback_ports.ADDRESS, port))


def test_a_port_that_another_program_took_is_named(cluster: Cluster) -> None:
    port = cluster.ports()[0]
    cluster.server.process.kill()
    with (
        socket.create_server((loopback_ports.ADDRESS, port)),
        pytest.raises(errors.ClusterError, match=f"expected port {port} .*address already in use"),
    ):
        cluster.restart_api_server(kill=True, down_s=0.0)
    report = cluster.exit_report()
    assert report is not None
    assert "signal 9" in report


def test_damaged_data_are_named(cluster: Cluster, folder: pathlib.Path) -> None:
    create(cluster, "one")
    cluster.server.process.kill()
    log = folder / "apiserver-data" / "commits.jsonl"
    log.write_bytes(b"x" + log.read_bytes()[1:])
    with pytest.raises(
        errors.ClusterError, match=r"(?s)start again on its data .* is damaged in line 1"
    ):
        cluster.restart_api_server(kill=False, down_s=0.0)


def test_down_ends_a_restart_that_is_under_way(cluster: Cluster) -> None:
    (pid,) = cluster.pids
    restart = begin_restart(cluster, down_s=3600.0)
    cluster.down()
    restart.join(TIMEOUT_S)
    assert not restart.is_alive()
    assert cluster.pids == [pid], "a server was started after the cluster went down"


def test_only_the_log_is_left(cluster: Cluster, folder: pathlib.Path) -> None:
    cluster.restart_api_server(kill=True, down_s=0.0)
    cluster.down()
    assert {path.name for path in folder.iterdir()} <= {"apiserver.log", "apiserver.ready"}


def test_what_a_dead_owner_left_is_removed(folder: pathlib.Path) -> None:
    folder.mkdir()
    request = interfaces.ClusterRequest(name="one", directory=folder)
    made = providers.up(ON_DISK, request)
    assert isinstance(made, Cluster)
    made.server.process.kill()
    assert (folder / "apiserver-data").is_dir()
    providers.of(ON_DISK).reap(request)
    assert {path.name for path in folder.iterdir()} <= {"apiserver.log", "apiserver.ready"}


def test_data_in_memory_are_not_restarted(tmp_path: pathlib.Path) -> None:
    profile = profiles.load("embedded")
    assert not providers.of(profile).capabilities.restarts_api_server
    assert providers.of(ON_DISK).capabilities.restarts_api_server
    made = embedded_cluster.up("one", tmp_path)
    try:
        with pytest.raises(errors.ClusterError, match="--cluster storage=disk"):
            made.restart_api_server(kill=False, down_s=0.0)
        assert made.exit_report() is None
    finally:
        made.down()
