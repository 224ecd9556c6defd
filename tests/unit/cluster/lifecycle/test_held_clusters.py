"""Clusters that stay, clusters for a while, and what prune does and must not do."""

import contextlib
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
from harness.client import apis, transports
from harness.cluster import (
    collecting,
    contracts,
    embedded,
    keeping,
    pools,
    providers,
    reaping,
    registry,
)
from harness.scenario import profiles, specs

SPEC = specs.PoolsSpec(nodes=2, devices_per_node=3)
EMBEDDED = profiles.load("embedded")
TIMEOUT_S = 30
# The processes are to outlive whoever started them, which is what a short-lived test calls a leak.
pytestmark = pytest.mark.filterwarnings(
    "ignore:subprocess:ResourceWarning", "ignore:unclosed <socket:ResourceWarning"
)


@pytest.fixture(autouse=True)
def own_places(
    state_home: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setenv(registry.MARK, "")  # taken back at the end
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    for entry in registry.known():
        reaping.remove(entry)


def up(name: str) -> registry.Entry:
    return keeping.up(name, EMBEDDED, SPEC)


def running(entry: registry.Entry) -> list[psutil.Process]:
    found = [identity.find() for identity in entry.processes]
    return [process for process in found if process is not None]


def test_a_cluster_comes_stays_and_goes() -> None:
    entry = up("one")
    assert entry.path == registry.folder() / "one"
    assert entry.path.stat().st_mode & 0o777 == 0o700
    assert reaping.is_alive(registry.find("one"))
    assert [identity.name for identity in entry.processes] == ["kubelet", "embedded"]
    api = apis.Api(transports.connect(entry.kubeconfig))
    assert len(api.list(apis.NODES).items) == 2
    assert len(api.list(apis.SLICES).items) == 2
    api.transport.close()
    with pytest.raises(errors.UsageError, match="there is a cluster 'one' already"):
        up("one")
    assert reaping.is_alive(entry), "the refusal has hurt the cluster that is there"
    before = running(entry)
    reaping.remove(entry)
    assert registry.known() == []
    assert not entry.path.exists()
    psutil.wait_procs(before, timeout=TIMEOUT_S)
    assert running(entry) == []


def test_its_logs(tmp_path: pathlib.Path) -> None:
    entry = up("one")
    files = collecting.collect(entry, tmp_path / "logs")
    assert {path.name for path in files} == {"apiserver.log", "kubelet.log"}


def test_prune_removes_what_has_lost_a_process_and_nothing_else() -> None:
    healthy, ill = up("healthy"), up("ill")
    victim, *rest = running(ill)
    victim.send_signal(signal.SIGKILL)
    clocks.wait_until(
        lambda: not reaping.is_alive(ill), timeout_s=TIMEOUT_S, why="the death to be seen"
    )
    assert reaping.prune().removed == ["cluster ill"]
    psutil.wait_procs(rest, timeout=TIMEOUT_S)
    assert running(ill) == []
    assert not ill.path.exists()
    assert [entry.name for entry in registry.known()] == ["healthy"]
    assert reaping.prune().removed == []
    assert reaping.is_alive(healthy)


def test_a_cluster_that_cannot_start_leaves_nothing() -> None:
    children = psutil.Process().children()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        profile = profiles.load("embedded", overrides=[f"port={taken.getsockname()[1]}"])
        with pytest.raises(errors.UsageError, match=r"to be free .*address already in use"):
            keeping.up("one", profile, SPEC)
    assert registry.known() == []
    assert list(registry.folder().iterdir()) == []
    assert set(psutil.Process().children()) <= set(children)


def test_a_cluster_for_a_while_is_in_the_registry_and_safe_from_prune(
    tmp_path: pathlib.Path,
) -> None:
    request = contracts.Request(name="run", directory=tmp_path / "run")
    with keeping.held(EMBEDDED, request) as cluster:
        assert registry.find("run").is_held
        assert reaping.prune().removed == []
        assert cluster.obituary() is None
    assert cluster.obituary() is not None
    assert registry.known() == []


@contextlib.contextmanager
def orphan(mark: str) -> Iterator[psutil.Process]:
    """A process with this mark."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        env={**os.environ, registry.MARK: mark},
    )
    process = psutil.Process(child.pid)
    try:  # for a moment of its exec, a process has no environment
        clocks.wait_until(
            lambda: process.environ().get(registry.MARK), timeout_s=TIMEOUT_S, why="the mark"
        )
        yield process
    finally:
        child.kill()
        child.wait()


def dead() -> registry.ProcessIdentity:
    """Somebody who has died."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    identity = registry.identity(child.pid, "dead")
    child.communicate()
    return identity


def owned(
    change: Callable[[registry.Entry], registry.Entry], profile: profiles.Profile = EMBEDDED
) -> registry.Entry:
    """An entry that this process makes and then is somebody else's."""
    directory = registry.folder().parent / "run"
    directory.mkdir()
    entry = change(registry.begin(profile, contracts.Request(name="run", directory=directory)))
    registry._written(entry).replace(registry._path(entry.name))
    return entry


def test_prune_removes_what_a_killed_run_has_left() -> None:
    owner = dead()
    entry = owned(lambda made: msgspec.structs.replace(made, owner=owner))
    entry.kubeconfig.write_text("token")
    (entry.path / "apiserver.log").touch()
    with (
        orphan(registry.mark(owner)) as child,
        orphan(registry.mark(registry.identity(os.getpid(), "me"))) as mine,
    ):
        assert reaping.prune().removed == [f"process {child.pid}", "cluster run"]
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
        assert mine.status() != psutil.STATUS_ZOMBIE
    assert not entry.kubeconfig.exists()
    assert (entry.path / "apiserver.log").exists(), "a log is evidence"
    assert registry.known() == []


def test_a_worker_whose_controller_is_dead_holds_nothing() -> None:
    """As of a campaign that was killed: for a while its workers go on."""
    with orphan(registry.mark(dead())) as worker:
        holder = registry.identity(worker.pid, "worker")
        entry = owned(lambda made: msgspec.structs.replace(made, owner=holder))
        assert entry.is_held
        with orphan(registry.mark(holder)) as started:
            pruned = reaping.prune()
            assert pruned.removed == [
                f"process {worker.pid}",
                f"process {started.pid}",
                "cluster run",
            ]
        assert registry.known() == []


def test_prune_kills_what_a_dead_owner_without_an_entry_has_left() -> None:
    owner = dead()
    with orphan(registry.mark(owner)) as child:
        assert reaping.prune().removed == [f"process {child.pid}"]
        assert child.status() == psutil.STATUS_ZOMBIE
        assert reaping.prune().removed == []


def test_prune_spares_what_another_registry_knows(
    state_home: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that stays has a dead owner as a rule; that it is to stay is written in its own registry only."""
    with orphan(registry.mark(dead())) as child:
        monkeypatch.setenv("XDG_STATE_HOME", str(state_home / "other"))
        assert reaping.prune().removed == []
        assert child.status() != psutil.STATUS_ZOMBIE


def test_prune_spares_the_processes_of_clusters_that_stay() -> None:
    """Their owner, the command that started them, is dead as a rule."""
    entry = up("one")
    with orphan(registry.mark(dead())) as child:
        carried = msgspec.structs.replace(entry, processes=[registry.identity(child.pid, "it")])
        registry._written(carried).replace(registry._path("one"))
        assert reaping.prune().removed == []
        assert child.status() != psutil.STATUS_ZOMBIE
        registry._written(entry).replace(registry._path("one"))


def test_prune_removes_temporary_folders_of_the_dead(tmp_path: pathlib.Path) -> None:
    gone = dead().pid
    (tmp_path / f"flake-hunt-{gone}-abc").mkdir()
    (tmp_path / f"flake-hunt-{os.getpid()}-abc").mkdir()
    (tmp_path / "flake-hunt-notes").mkdir()
    assert reaping.prune().removed == [f"folder {tmp_path}/flake-hunt-{gone}-abc"]
    assert (tmp_path / f"flake-hunt-{os.getpid()}-abc").exists()
    assert (tmp_path / "flake-hunt-notes").exists()


def test_a_process_that_does_not_end_does_not_keep_the_rest(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_of(owner: registry.ProcessIdentity, **_: object) -> list[int]:
        raise errors.WaitTimeoutError(f"what {owner.pid} has started did not end")

    gone = dead()
    (tmp_path / f"flake-hunt-{gone.pid}-abc").mkdir()
    monkeypatch.setattr(reaping, "kill_of", kill_of)
    with orphan(registry.mark(gone)):
        pruned = reaping.prune()
    assert pruned.removed == [f"folder {tmp_path}/flake-hunt-{gone.pid}-abc"]
    assert set(pruned.failed) == {f"what {gone.pid} has started did not end"}


def test_a_zombie_has_ended(tmp_path: pathlib.Path) -> None:
    """Its parent, an init perhaps, takes its time; what it has left can be removed at once."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        clocks.wait_until(
            lambda: process.status() == psutil.STATUS_ZOMBIE, timeout_s=TIMEOUT_S, why="the end"
        )
        (tmp_path / f"flake-hunt-{child.pid}-abc").mkdir()
        (registry.folder() / f".run.1.{child.pid}.new").touch()
        assert reaping.prune().removed == [f"folder {tmp_path}/flake-hunt-{child.pid}-abc"]
        assert list(registry.folder().iterdir()) == []


def test_prune_removes_what_a_killed_run_left_on_a_cluster_that_exists(
    tmp_path: pathlib.Path,
) -> None:
    """Its objects by their label, and nobody else's; then our copy of the credentials."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    theirs = embedded.up("theirs", folder)
    settings = [f"kubeconfig={theirs.user_kubeconfig}", "i_know_this_cluster=true"]
    profile = profiles.load("kubeconfig", overrides=[*settings, "controller_manager=false"])
    entry = owned(lambda made: msgspec.structs.replace(made, owner=dead()), profile)
    provider = providers.of(profile)
    api = apis.Api(transports.connect(provider.up(entry.request()).kubeconfig))
    api.create(apis.NODES, {"metadata": {"name": "somebody-elses"}})
    registry.note_run(entry.path, "0a1b2c3d")
    on = provider.capabilities
    pools.publish(api, SPEC, namespace="flake-hunt-0a1b2c3d", run_id="0a1b2c3d", on=on)
    assert len(api.list(apis.NODES).items) == 3
    pruned = reaping.prune()
    assert (pruned.removed, pruned.failed) == (["cluster run"], [])
    assert [node["metadata"]["name"] for node in api.list(apis.NODES).items] == ["somebody-elses"]
    assert api.list(apis.SLICES).items == []
    assert not entry.kubeconfig.exists()
    api.transport.close()
    theirs.down()


# ------------------------------------------------------------------ on a cluster that exists


@pytest.fixture
def theirs(tmp_path: pathlib.Path) -> Iterator[embedded.EmbeddedCluster]:
    """A cluster of somebody else, with a fake node of his."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    cluster = embedded.up("theirs", folder)
    api = apis.Api(transports.connect(cluster.kubeconfig))
    marks = {"name": "worker-0", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    api.create(apis.NODES, {"metadata": marks})
    api.transport.close()
    yield cluster
    cluster.down()


def on_it(theirs: embedded.EmbeddedCluster) -> profiles.Profile:
    settings = [f"kubeconfig={theirs.user_kubeconfig}", "i_know_this_cluster=true"]
    return profiles.load("kubeconfig", overrides=[*settings, "controller_manager=false"])


def names(theirs: embedded.EmbeddedCluster, resource: apis.Resource) -> set[str]:
    api = apis.Api(transports.connect(theirs.kubeconfig))
    try:
        return {item["metadata"]["name"] for item in api.list(resource).items}
    finally:
        api.transport.close()


def test_two_that_stay_on_one_cluster_are_told_apart_and_play_their_own_nodes(
    theirs: embedded.EmbeddedCluster,
) -> None:
    one, two = (keeping.up(name, on_it(theirs), SPEC) for name in ("one", "two"))
    own = {
        f"flake-hunt-{run}-worker-{n}" for entry in (one, two) for run in entry.runs for n in (0, 1)
    }
    assert names(theirs, apis.NODES) == {"worker-0", *own}
    clocks.wait_until(
        lambda: names(theirs, apis.LEASES) >= own, timeout_s=TIMEOUT_S, why="leases of our nodes"
    )
    assert "worker-0" not in names(theirs, apis.LEASES)
    reaping.remove(registry.find("one"))
    (run,) = two.runs
    assert names(theirs, apis.NODES) == {"worker-0", *(name for name in own if run in name)}
    assert f"flake-hunt-{run}" in names(theirs, apis.NAMESPACES)
    reaping.remove(registry.find("two"))
    assert names(theirs, apis.NODES) == {"worker-0"}
    assert not names(theirs, apis.LEASES)


def test_when_it_cannot_be_finished_nothing_of_it_stays_there(
    theirs: embedded.EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(theirs, apis.NAMESPACES)
    command = processes.command
    monkeypatch.setattr(processes, "command", lambda *words: [*command(*words), "--no-such-flag"])
    with pytest.raises(errors.ProcessError):
        keeping.up("one", on_it(theirs), SPEC)
    assert names(theirs, apis.NODES) == {"worker-0"}
    assert names(theirs, apis.NAMESPACES) == before
    assert registry.known() == []


def test_prune_goes_on_when_one_cluster_does_not_answer(tmp_path: pathlib.Path) -> None:
    profile = profiles.load("kubeconfig")
    entry = owned(lambda made: msgspec.structs.replace(made, owner=dead(), runs=["x"]), profile)
    entry.kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n"
    )
    with orphan(registry.mark(dead())) as child:
        pruned = reaping.prune()
        assert pruned.removed == [f"process {child.pid}"]
    assert "expected to remove what is left on the cluster of" in pruned.failed[0]
    assert registry.known() == [entry], "the next prune tries again"
    entry.kubeconfig.unlink()
