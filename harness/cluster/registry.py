"""Clusters that outlive the command that started them: `flake-hunt cluster up|list|down|prune`.

Each has a folder in the user's state directory with its kubeconfig and the identities of its processes. A process is known by pid and
start time, so a reused pid is never killed.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal

import msgspec
import psutil

from harness import clocks, errors, processes
from harness.client import apis, transports
from harness.cluster import embedded, pools
from harness.scenario import specs

STOP_TIMEOUT_S = 10.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?")
_RUN_ID = "cluster"
_NAMESPACE = "flake-hunt"


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A process that cannot be confused with a later one of the same pid."""

    name: str
    pid: int
    started: float

    def find(self) -> psutil.Process | None:
        """The process if it still runs."""
        try:
            process = psutil.Process(self.pid)
            alive = process.create_time() == self.started
            return process if alive and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster of the registry."""

    name: str
    provider: str
    processes: list[ProcessIdentity]
    created_wall_ns: int


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """A cluster of the registry as it is now."""

    entry: Entry
    directory: pathlib.Path

    @property
    def kubeconfig(self) -> pathlib.Path:
        """For kubectl."""
        return self.directory / "kubeconfig"

    @property
    def is_alive(self) -> bool:
        """Whether all of its processes run."""
        return all(identity.find() is not None for identity in self.entry.processes)


def folder() -> pathlib.Path:
    """Where the clusters' folders are."""
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state"
    return pathlib.Path(state) / "flake-hunt" / "clusters"


def known() -> list[Known]:
    """All clusters, by name."""
    found = []
    for path in sorted(folder().glob("*/cluster.json")):
        try:
            entry = msgspec.json.decode(path.read_bytes(), type=Entry)
        except (OSError, msgspec.DecodeError) as error:
            raise errors.ClusterError(
                f"{path}: expected a cluster's entry ({error}); remove the folder"
            ) from error
        found.append(Known(entry, path.parent))
    return found


def find(name: str) -> Known:
    """The cluster of this name; UsageError when there is none."""
    for item in known():
        if item.entry.name == name:
            return item
    names = ", ".join(item.entry.name for item in known()) or "none"
    raise errors.UsageError(f"expected a cluster's name, got {name!r}. Clusters: {names}")


def up(name: str, spec: specs.PoolsSpec, *, port: int = 0, tls_port: int = 0) -> Known:
    """Start an embedded cluster with its device pools and kubelets, and leave it running."""
    if not _NAME.fullmatch(name):  # it becomes a folder, which is removed with everything in it
        raise errors.UsageError(
            f"expected a cluster's name of lower-case letters, digits and dashes, got {name!r}"
        )
    directory = folder() / name
    if (directory / "cluster.json").exists():
        raise errors.UsageError(
            f"there is a cluster {name!r} already: take another --name, or remove it with "
            f"`flake-hunt cluster down {name}`"
        )
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    started: list[processes.Process] = []
    try:
        return _up(name, directory, spec, started, port=port, tls_port=tls_port)
    except BaseException:
        for process in started:
            process.kill()
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _up(
    name: str,
    directory: pathlib.Path,
    spec: specs.PoolsSpec,
    started: list[processes.Process],
    *,
    port: int,
    tls_port: int,
) -> Known:
    cluster = embedded.start(name, directory, with_parent=False, port=port, tls_port=tls_port)
    started.append(cluster.process)
    api = apis.Api(transports.connect(cluster.kubeconfig))
    pools.publish(api, spec, namespace=_NAMESPACE, run_id=_RUN_ID)
    kubelet = processes.start_ready(
        "kubelet",
        processes.command("kubelet", "--kubeconfig", str(cluster.kubeconfig)),
        log=directory / "kubelet.log",
        ready=directory / "kubelet.ready",
        timeout_s=embedded.READY_TIMEOUT_S,
        with_parent=False,
    )
    started.append(kubelet)
    entry = Entry(
        name=name,
        provider="embedded",
        processes=[_identity(process) for process in reversed(started)],
        created_wall_ns=clocks.wall_ns(),
    )
    (directory / "cluster.json").write_bytes(msgspec.json.encode(entry))
    return Known(entry, directory)


def down(item: Known) -> None:
    """Stop the cluster's processes and remove its folder."""
    for identity in item.entry.processes:
        _stop(identity)
    shutil.rmtree(item.directory)


def prune() -> list[str]:
    """Remove every cluster that has lost a process; the names of those removed."""
    dead = [item for item in known() if not item.is_alive]
    for item in dead:
        down(item)
    return [item.entry.name for item in dead]


def _identity(process: processes.Process) -> ProcessIdentity:
    started = psutil.Process(process.pid).create_time()
    return ProcessIdentity(name=process.name, pid=process.pid, started=started)


def _stop(identity: ProcessIdentity) -> None:
    process = identity.find()
    if process is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGTERM)
        try:  # a zombie has ended: when it is reaped is up to an init that may take its time
            clocks.wait_until(
                lambda: identity.find() is None,
                timeout_s=STOP_TIMEOUT_S,
                why=f"{identity.name} to end",
            )
        except errors.WaitTimeoutError:
            process.kill()
