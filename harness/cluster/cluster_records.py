"""Records of the clusters on this machine, one JSON file for each.

A record is written before anything is created for its cluster and removed after everything is gone.
After any interruption, including `kill -9`, `flake-hunt cluster prune` therefore knows what to
remove. A process is identified by pid and start time, so a reused pid is never killed.
"""

import contextlib
import os
import pathlib
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import psutil

from harness import clocks, errors, regular_files, suggestions, writing
from harness.cluster import interfaces, state_folder
from harness.scenario import profiles

SUFFIX = ".json"
PROXY_KUBECONFIG = "kubeconfig-fault-proxy-"
"""Prefix of the kubeconfigs that a run's fault proxy writes into a cluster's folder."""
TEMPORARY_PREFIX = "flake-hunt-"
"""Name prefix of temporary folders; the creator's pid follows."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?")


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A process, identified by pid and start time because pids are reused."""

    name: str
    pid: int
    started: float

    def find(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = process.create_time() == self.started
        except psutil.NoSuchProcess:
            return None
        return process if same and is_running(process) else None


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one cluster."""

    name: str
    provider: str
    profile: dict[str, Any]
    """The profile as a plain document, from which leftovers can be removed by another process."""
    directory: str
    """The cluster's own folder, with its kubeconfigs."""
    owner: ProcessIdentity
    """The process that creates the cluster and holds it, unless the cluster stays."""
    stays: bool
    """The cluster outlives its owner once it is up (`flake-hunt cluster up`)."""
    state: Literal["starting", "up"] = "starting"
    processes: list[ProcessIdentity] = []
    """Processes of a cluster that stays, in the order in which to stop them."""
    runs: list[str] = []
    """Ids of the runs that created objects on the cluster."""
    created_wall_ns: int

    @property
    def path(self) -> pathlib.Path:
        return pathlib.Path(self.directory)

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.path / "kubeconfig"

    @property
    def is_held(self) -> bool:
        """True while the owner works on the cluster, so that no other process may touch it."""
        return self.owner.find() is not None and not (self.stays and self.state == "up")

    def load_profile(self) -> profiles.Profile:
        return profiles.restore(self.profile)

    def request(self) -> interfaces.ClusterRequest:
        return interfaces.ClusterRequest(
            name=self.name, directory=self.path, stays=self.stays, runs=self.runs
        )


def folder() -> pathlib.Path:
    """Return the folder of the records, which also contains the folders of clusters that stay."""
    path = state_folder.folder() / "clusters"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def known() -> list[ClusterRecord]:
    entries = []
    for path in sorted(folder().glob(f"*{SUFFIX}")):
        try:
            content = regular_files.content(path)
            entries.append(msgspec.json.decode(content, type=ClusterRecord))
        except FileNotFoundError:
            continue  # another process has just removed it
        except msgspec.DecodeError as error:
            raise errors.ClusterError(
                f"{path}: expected the record of a cluster ({error}); remove the file"
            ) from error
    return entries


def find(name: str) -> ClusterRecord:
    """Return the record of the cluster with this name. Raises UsageError if there is none."""
    entries = {entry.name: entry for entry in known()}
    if name not in entries:
        near = suggestions.did_you_mean(name, entries)
        raise errors.UsageError(
            f"expected a cluster's name, got {name!r}. Clusters: "
            f"{', '.join(entries) or 'none'}.{near}"
        )
    return entries[name]


def begin(profile: profiles.Profile, request: interfaces.ClusterRequest) -> ClusterRecord:
    """Record that this process is about to create a cluster.

    Raises UsageError if the name is taken.
    """
    check_name(request.name)
    owner = identity(os.getpid(), "flake-hunt")
    entry = ClusterRecord(
        name=request.name,
        provider=profile.provider,
        profile=profile.model_dump(mode="json"),
        directory=str(request.directory.resolve()),
        owner=owner,
        stays=request.stays,
        created_wall_ns=clocks.wall_ns(),
    )
    temporary = _written(entry)
    try:
        os.link(temporary, _path(entry.name))  # atomic: fails if the name is taken
    except FileExistsError:
        raise _taken(entry.name) from None
    finally:
        temporary.unlink()
    return entry


def require_new(name: str) -> None:
    """Raise UsageError if the name is invalid or already has a record."""
    check_name(name)
    if _path(name).exists():
        raise _taken(name)


def mark_up(entry: ClusterRecord, running: Sequence[ProcessIdentity]) -> ClusterRecord:
    changed = msgspec.structs.replace(entry, state="up", processes=list(running))
    _written(changed).replace(_path(entry.name))
    return changed


def note_run(directory: pathlib.Path, run_id: str) -> None:
    """Record that a run is about to create objects on the cluster of this folder.

    Does nothing if no record has this folder.
    """
    for entry in known():
        if entry.path == directory.resolve():
            changed = msgspec.structs.replace(entry, runs=[*entry.runs, run_id])
            _written(changed).replace(_path(entry.name))


def forget(entry: ClusterRecord) -> None:
    _path(entry.name).unlink(missing_ok=True)


def forget_proxy_kubeconfigs(directory: pathlib.Path) -> None:
    """Remove the kubeconfigs of fault proxies that were killed before they could do so."""
    for start in (PROXY_KUBECONFIG, f".{PROXY_KUBECONFIG}"):  # unfinished ones begin with a dot
        for path in directory.glob(f"{start}*"):
            path.unlink(missing_ok=True)


def is_running(process: psutil.Process) -> bool:
    """Return whether the process is still running.

    A zombie is not: its parent, perhaps a slow init, has merely not reaped it yet.
    """
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def identity(pid: int, name: str) -> ProcessIdentity:
    return ProcessIdentity(name=name, pid=pid, started=psutil.Process(pid).create_time())


@contextlib.contextmanager
def temporary_folder() -> Iterator[pathlib.Path]:
    """Yield a temporary folder; `cluster prune` removes it if this process is killed meanwhile."""
    with tempfile.TemporaryDirectory(prefix=f"{TEMPORARY_PREFIX}{os.getpid()}-") as name:
        yield pathlib.Path(name)


def check_name(name: str) -> None:
    """Raise UsageError if the name is not valid.

    The name becomes that of a folder that is later removed with everything in it.
    """
    if not _NAME.fullmatch(name):
        raise errors.UsageError(
            f"expected a cluster's name of lower-case letters, digits and dashes, got {name!r}"
        )


def _taken(name: str) -> errors.UsageError:
    return errors.UsageError(
        f"a cluster {name!r} already exists: choose another --name, or remove it with "
        f"`flake-hunt cluster down {name}`"
    )


def _path(name: str) -> pathlib.Path:
    return folder() / f"{name}{SUFFIX}"


def _written(entry: ClusterRecord) -> pathlib.Path:
    """Write the record to a temporary file beside its final path, for an atomic rename."""
    temporary = folder() / f".{entry.name}.{threading.get_ident()}.{os.getpid()}.new"
    with writing.explained(temporary):
        temporary.write_bytes(msgspec.json.encode(entry))
    return temporary
