"""Clusters that stay, clusters for a while, and what prune does and must not do."""

import contextlib
import gc
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import msgspec
import psutil
import pytest

from harness import clocks, errors, processes
from harness.client import apis
from harness.cluster import cluster_records, embedded_cluster, interfaces
from harness.cluster.lifecycle import held_clusters, prune
from harness.scenario import pool_specs, profiles
from tests.support import written_kubeconfigs

SPEC = pool_specs.PoolsSpec(nodes=2, devices_per_node=3)
EMBEDDED = profiles.load("embedded")
TIMEOUT_S = 30
# The processes are meant to outlive the command that started them, which a test would call a leak.
pytestmark = pytest.mark.filterwarnings(
    "ignore:subprocess:ResourceWarning", "ignore:unclosed <socket:ResourceWarning"
)


@pytest.fixture(autouse=True)
def own_places(
    state_home: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    for entry in cluster_records.known():
        prune.remove(entry)
    gc.collect()  # else the ignored warnings come in another test


def up(name: str) -> cluster_records.ClusterRecord:
    return held_clusters.up(name, EMBEDDED, SPEC)


def running(entry: cluster_records.ClusterRecord) -> list[psutil.Process]:
    found = [identity.find() for identity in entry.processes]
    return [process for process in found if process is not None]


def test_a_cluster_comes_stays_and_goes(tmp_path: pathlib.Path) -> None:
    entry = up("one")
    assert entry.path == cluster_records.folder() / "one"
    assert entry.path.stat().st_mode & 0o777 == 0o700
    assert prune.is_alive(cluster_records.find("one"))
    assert [identity.name for identity in entry.processes] == ["kubelet", "embedded"]
    with apis.connected(entry.kubeconfig) as api:
        assert len(api.list(apis.NODES).items) == len(api.list(apis.SLICES).items) == 2
    with pytest.raises(errors.UsageError, match="a cluster 'one' already exists"):
        up("one")
    assert prune.is_alive(entry), "the refusal has hurt the cluster that is there"
    files = held_clusters.collect_logs(entry, tmp_path / "logs")
    assert {path.name for path in files} == {"apiserver.log", "audit.log", "kubelet.log"}
    before = running(entry)
    prune.remove(entry)
    assert cluster_records.known() == []
    assert not entry.path.exists()
    psutil.wait_procs(before, timeout=TIMEOUT_S)
    assert running(entry) == []


def test_prune_removes_what_has_lost_a_process_and_nothing_else() -> None:
    healthy, ill = up("healthy"), up("ill")
    victim, *rest = running(ill)
    victim.send_signal(signal.SIGKILL)
    clocks.wait_until(
        lambda: not prune.is_alive(ill), timeout_s=TIMEOUT_S, why="the death to be seen"
    )
    assert prune.prune()[0] == ["cluster ill"]
    psutil.wait_procs(rest, timeout=TIMEOUT_S)
    assert running(ill) == []
    assert not ill.path.exists()
    assert [entry.name for entry in cluster_records.known()] == ["healthy"]
    assert prune.prune()[0] == []
    assert prune.is_alive(healthy)


def test_a_cluster_that_cannot_start_leaves_nothing() -> None:
    children = psutil.Process().children()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        profile = profiles.load("embedded", overrides=[f"port={taken.getsockname()[1]}"])
        with pytest.raises(errors.UsageError, match=r"to be free .*address already in use"):
            held_clusters.up("one", profile, SPEC)
    assert cluster_records.known() == []
    assert list(cluster_records.folder().iterdir()) == []
    assert set(psutil.Process().children()) <= set(children)


def test_a_cluster_for_a_while_is_in_the_registry_and_safe_from_prune(
    tmp_path: pathlib.Path,
) -> None:
    request = interfaces.ClusterRequest(name="run", directory=tmp_path / "run")
    with held_clusters.held(EMBEDDED, request) as cluster:
        assert cluster_records.find("run").is_held
        assert prune.prune()[0] == []
        assert cluster.exit_report() is None
    assert cluster.exit_report() is not None
    assert cluster_records.known() == []


@contextlib.contextmanager
def of_folder(entry: cluster_records.ClusterRecord, program: str) -> Iterator[psutil.Process]:
    """A process whose command names the program and a file of the cluster's folder."""
    code = "import signal; signal.pause()"
    child = subprocess.Popen([sys.executable, "-c", code, program, f"{entry.path}/kubeconfig"])
    process = psutil.Process(child.pid)
    try:
        clocks.wait_until(
            lambda: program in process.cmdline(), timeout_s=TIMEOUT_S, why="the command"
        )
        yield process
    finally:
        child.kill()
        child.wait()


def dead() -> cluster_records.ProcessIdentity:
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    identity = cluster_records.identity(child.pid, "dead")
    child.communicate()
    return identity


def owned(
    change: Callable[[cluster_records.ClusterRecord], cluster_records.ClusterRecord],
    profile: profiles.Profile = EMBEDDED,
) -> cluster_records.ClusterRecord:
    directory = cluster_records.folder().parent / "run"
    directory.mkdir()
    entry = change(
        cluster_records.begin(profile, interfaces.ClusterRequest(name="run", directory=directory))
    )
    cluster_records._written(entry).replace(cluster_records._path(entry.name))
    return entry


def test_a_cluster_takes_the_kubeconfigs_of_killed_proxies_with_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every provider: here of one that knows only its own files."""
    monkeypatch.setattr(embedded_cluster, "forget", lambda _: None)
    request = interfaces.ClusterRequest(name="run", directory=tmp_path / "run")
    start = cluster_records.PROXY_KUBECONFIG
    proxied = [tmp_path / "run" / name for name in (f"{start}scheduler", f".{start}scheduler-x")]
    with held_clusters.held(EMBEDDED, request):
        for path in proxied:
            path.write_text("token")
    assert not any(path.exists() for path in proxied)


def test_prune_removes_what_a_killed_run_has_left() -> None:
    entry = owned(lambda made: msgspec.structs.replace(made, owner=dead()))
    entry.kubeconfig.write_text("token")
    (entry.path / "apiserver.log").touch()
    with of_folder(entry, "harness.cli.main") as left, of_folder(entry, "tail") as other:
        assert prune.prune()[0] == ["cluster run"]
        clocks.wait_until(
            lambda: not cluster_records.is_running(left), timeout_s=TIMEOUT_S, why="its end"
        )
        assert cluster_records.is_running(other), "of a user who looks at the log"
    assert not entry.kubeconfig.exists()
    assert (entry.path / "apiserver.log").exists(), "a log is evidence"
    assert cluster_records.known() == []


def test_prune_removes_temporary_folders_of_the_dead(tmp_path: pathlib.Path) -> None:
    gone = dead().pid
    (tmp_path / f"flake-hunt-{gone}-abc").mkdir()
    (tmp_path / f"flake-hunt-{os.getpid()}-abc").mkdir()
    (tmp_path / "flake-hunt-notes").mkdir()
    assert prune.prune()[0] == [f"folder {tmp_path}/flake-hunt-{gone}-abc"]
    assert (tmp_path / f"flake-hunt-{os.getpid()}-abc").exists()
    assert (tmp_path / "flake-hunt-notes").exists()


def test_a_zombie_has_ended(tmp_path: pathlib.Path) -> None:
    """Its parent, an init perhaps, takes its time; what it has left can be removed at once."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        clocks.wait_until(
            lambda: process.status() == psutil.STATUS_ZOMBIE, timeout_s=TIMEOUT_S, why="the end"
        )
        (tmp_path / f"flake-hunt-{child.pid}-abc").mkdir()
        (cluster_records.folder() / f".run.1.{child.pid}.new").touch()
        assert prune.prune()[0] == [f"folder {tmp_path}/flake-hunt-{child.pid}-abc"]
        assert list(cluster_records.folder().iterdir()) == []


# ------------------------------------------------------------------ on a cluster that exists


@pytest.fixture
def theirs(tmp_path: pathlib.Path) -> Iterator[embedded_cluster.EmbeddedCluster]:
    """A foreign cluster with a fake node."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    cluster = embedded_cluster.up("theirs", folder)
    marks = {"name": "worker-0", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    with apis.connected(cluster.kubeconfig) as api:
        api.create(apis.NODES, {"metadata": marks})
    yield cluster
    cluster.down()


def on_it(theirs: embedded_cluster.EmbeddedCluster) -> profiles.Profile:
    settings = [f"kubeconfig={theirs.user_kubeconfig}", "i_know_this_cluster=true"]
    return profiles.load("kubeconfig", overrides=[*settings, "controller_manager=false"])


def names(theirs: embedded_cluster.EmbeddedCluster, resource: apis.Resource) -> set[str]:
    with apis.connected(theirs.kubeconfig) as api:
        return {item["metadata"]["name"] for item in api.list(resource).items}


def test_two_that_stay_on_one_cluster_are_told_apart_and_play_their_own_nodes(
    theirs: embedded_cluster.EmbeddedCluster,
) -> None:
    one, two = (held_clusters.up(name, on_it(theirs), SPEC) for name in ("one", "two"))
    own = {
        f"flake-hunt-{run}-worker-{n}" for entry in (one, two) for run in entry.runs for n in (0, 1)
    }
    assert names(theirs, apis.NODES) == {"worker-0", *own}
    clocks.wait_until(
        lambda: names(theirs, apis.LEASES) >= own, timeout_s=TIMEOUT_S, why="leases of our nodes"
    )
    assert "worker-0" not in names(theirs, apis.LEASES)
    prune.remove(cluster_records.find("one"))
    (run,) = two.runs
    assert names(theirs, apis.NODES) == {"worker-0", *(name for name in own if run in name)}
    assert f"flake-hunt-{run}" in names(theirs, apis.NAMESPACES)
    prune.remove(cluster_records.find("two"))
    assert names(theirs, apis.NODES) == {"worker-0"}
    assert not names(theirs, apis.LEASES)


def test_when_it_cannot_be_finished_nothing_of_it_stays_there(
    theirs: embedded_cluster.EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(theirs, apis.NAMESPACES)
    command = processes.command
    monkeypatch.setattr(processes, "command", lambda *words: [*command(*words), "--no-such-flag"])
    with pytest.raises(errors.ProcessError):
        held_clusters.up("one", on_it(theirs), SPEC)
    assert names(theirs, apis.NODES) == {"worker-0"}
    assert names(theirs, apis.NAMESPACES) == before
    assert cluster_records.known() == []


def test_prune_goes_on_when_one_cluster_does_not_answer(tmp_path: pathlib.Path) -> None:
    profile = profiles.load("kubeconfig")
    entry = owned(lambda made: msgspec.structs.replace(made, owner=dead(), runs=["x"]), profile)
    written_kubeconfigs.write(entry.kubeconfig, "http://127.0.0.1:1")
    [failed] = prune.prune()[1]
    assert "expected to remove what is left on the cluster of" in failed
    assert cluster_records.known() == [entry], "the next prune tries again"
    entry.kubeconfig.unlink()
