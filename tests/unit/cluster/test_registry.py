"""Clusters that stay: up, list, down, prune; and what must never be killed or removed."""

import os
import pathlib
import signal
import socket
from collections.abc import Callable, Iterator

import psutil
import pytest

from harness import clocks, errors
from harness.client import apis, transports
from harness.cluster import registry
from harness.scenario import specs

SPEC = specs.PoolsSpec(nodes=2, devices_per_node=3)
TIMEOUT_S = 30
# The processes are to outlive whoever started them, which is what a short-lived test calls a leak.
pytestmark = pytest.mark.filterwarnings(
    "ignore:subprocess:ResourceWarning", "ignore:unclosed <socket:ResourceWarning"
)


@pytest.fixture
def up(state_home: pathlib.Path) -> Iterator[Callable[[str], registry.Known]]:
    """Clusters that are taken down whatever happens."""
    yield lambda name: registry.up(name, SPEC)
    for item in registry.known():
        registry.down(item)


def running(item: registry.Known) -> list[psutil.Process]:
    found = [identity.find() for identity in item.entry.processes]
    return [process for process in found if process is not None]


def test_a_cluster_comes_stays_and_goes(
    up: Callable[[str], registry.Known], state_home: pathlib.Path
) -> None:
    assert registry.known() == []
    item = up("one")
    assert item.directory == state_home / "flake-hunt" / "clusters" / "one"
    assert item.directory.stat().st_mode & 0o777 == 0o700
    assert [known.entry.name for known in registry.known()] == ["one"]
    assert registry.find("one").is_alive
    assert {identity.name for identity in item.entry.processes} == {"apiserver", "kubelet"}
    api = apis.Api(transports.connect(item.kubeconfig))
    assert len(api.list(apis.NODES).items) == 2
    assert len(api.list(apis.SLICES).items) == 2
    api.transport.close()
    with pytest.raises(errors.UsageError, match="there is a cluster 'one' already"):
        up("one")
    assert registry.find("one").is_alive, "the refusal has hurt the cluster that is there"
    running_before = running(item)
    registry.down(item)
    assert registry.known() == []
    assert not item.directory.exists()
    psutil.wait_procs(running_before, timeout=TIMEOUT_S)
    assert running(item) == []


def test_prune_removes_what_has_lost_a_process_and_nothing_else(
    up: Callable[[str], registry.Known],
) -> None:
    healthy, ill = up("healthy"), up("ill")
    victim, *rest = running(ill)
    victim.send_signal(signal.SIGKILL)
    clocks.wait_until(lambda: not ill.is_alive, timeout_s=TIMEOUT_S, why="the death to be seen")
    assert registry.prune() == ["ill"]
    psutil.wait_procs(rest, timeout=TIMEOUT_S)
    assert running(ill) == []
    assert not ill.directory.exists()
    assert [item.entry.name for item in registry.known()] == ["healthy"]
    assert registry.prune() == []
    assert healthy.is_alive


def test_a_cluster_that_cannot_start_leaves_nothing(state_home: pathlib.Path) -> None:
    children = psutil.Process().children()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(errors.ProcessError):
        registry.up("one", SPEC, port=taken.getsockname()[1])
    assert registry.known() == []
    assert list(registry.folder().iterdir()) == []
    assert set(psutil.Process().children()) <= set(children)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../outside", "/absolute", "Ä", "a b", "-a"]
)
def test_a_name_that_is_no_folders_name_is_refused(state_home: pathlib.Path, name: str) -> None:
    """The folder of a cluster is removed with everything in it."""
    outside = state_home / "flake-hunt" / "outside"
    outside.mkdir(parents=True)
    (outside / "precious").touch()
    with pytest.raises(errors.UsageError, match="expected a cluster's name"):
        registry.up(name, SPEC)
    assert (outside / "precious").exists()
    assert registry.known() == []


def test_unknown_names(state_home: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match=r"got 'x'. Clusters: none"):
        registry.find("x")


def test_a_damaged_entry_is_named(state_home: pathlib.Path) -> None:
    folder = registry.folder() / "broken"
    folder.mkdir(parents=True)
    (folder / "cluster.json").write_text("{")
    with pytest.raises(
        errors.ClusterError, match=r"broken/cluster\.json: expected a cluster's entry"
    ):
        registry.known()


def test_a_process_that_has_only_the_pid_is_left_alone(state_home: pathlib.Path) -> None:
    me = psutil.Process()
    same = registry.ProcessIdentity(name="me", pid=me.pid, started=me.create_time())
    assert same.find() is not None
    later = registry.ProcessIdentity(name="me", pid=os.getpid(), started=me.create_time() - 60)
    assert later.find() is None
    folder = registry.folder() / "old"
    folder.mkdir(parents=True)
    entry = registry.Entry(name="old", provider="embedded", processes=[later], created_wall_ns=0)
    registry.down(registry.Known(entry, folder))  # and we are still here
    assert not folder.exists()
