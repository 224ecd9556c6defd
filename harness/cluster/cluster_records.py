"""What was made on this machine: an entry for each cluster, written before anything is made of it and removed after everything is gone.

So whatever happens in between, also `kill -9`, the next `flake-hunt cluster prune` knows what to look for. A process is known by pid and start
time, so a reused pid is never killed; every process that is started by the owner of an entry carries the owner's mark in its environment.
"""

import contextlib
import hashlib
import os
import pathlib
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import psutil

from harness import clocks, errors, suggestions, writing
from harness.cluster import interfaces, state_folder
from harness.scenario import profiles

MARK = "FLAKE_HUNT_OWNER"
"""In the environment of every process that an owner has started, and of what these start."""
SUFFIX = ".json"
TEMPORARY_PREFIX = "flake-hunt-"
"""Of temporary folders; the pid of their maker follows."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?")


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A process that cannot be confused with a later one of the same pid."""

    name: str
    pid: int
    started: float

    def find(self) -> psutil.Process | None:
        """The process if it still runs."""
        try:
            process = psutil.Process(self.pid)
            same = process.create_time() == self.started
        except psutil.NoSuchProcess:
            return None
        return process if same and has_not_ended(process) else None


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster."""

    name: str
    provider: str
    profile: dict[str, Any]
    """As a plain document: what is left can be removed without the object that had made it."""
    directory: str
    """The cluster's own folder, with its kubeconfigs."""
    owner: ProcessIdentity
    """Who makes it, and holds it unless it stays."""
    stays: bool
    """It outlives its owner once it is up (`flake-hunt cluster up`)."""
    state: Literal["starting", "up"] = "starting"
    processes: list[ProcessIdentity] = []
    """Of a cluster that stays, in the order in which they are to be stopped."""
    runs: list[str] = []
    """The ids of the runs that have made something on it."""
    created_wall_ns: int

    @property
    def path(self) -> pathlib.Path:
        """The cluster's folder."""
        return pathlib.Path(self.directory)

    @property
    def kubeconfig(self) -> pathlib.Path:
        """For kubectl."""
        return self.path / "kubeconfig"

    @property
    def is_held(self) -> bool:
        """Whether its owner works on it, so that nobody else may touch it."""
        return self.owner.find() is not None and not (self.stays and self.state == "up")

    def restored(self) -> profiles.Profile:
        """Its profile."""
        return profiles.restore(self.profile)

    def request(self) -> interfaces.ClusterRequest:
        """What had been asked for."""
        return interfaces.ClusterRequest(
            name=self.name, directory=self.path, stays=self.stays, runs=self.runs
        )


def folder() -> pathlib.Path:
    """Where the entries are, and the folders of the clusters that stay."""
    made = state_folder.folder() / "clusters"
    made.mkdir(mode=0o700, exist_ok=True)
    return made


def known() -> list[ClusterRecord]:
    """All clusters, by name."""
    entries = []
    for path in sorted(folder().glob(f"*{SUFFIX}")):
        with contextlib.suppress(FileNotFoundError):  # somebody has just removed it
            entries.append(_read(path))
    return entries


def find(name: str) -> ClusterRecord:
    """The cluster of this name; UsageError when there is none."""
    entries = known()
    for entry in entries:
        if entry.name == name:
            return entry
    names = [entry.name for entry in entries]
    near = suggestions.did_you_mean(name, names)
    raise errors.UsageError(
        f"expected a cluster's name, got {name!r}. Clusters: {', '.join(names) or 'none'}.{near}"
    )


def begin(profile: profiles.Profile, request: interfaces.ClusterRequest) -> ClusterRecord:
    """Write down that this process is about to make a cluster; UsageError when the name is taken."""
    check_name(request.name)
    owner = mark_children()
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
        os.link(temporary, _path(entry.name))  # fails when it is there: two cannot both succeed
    except FileExistsError:
        raise _taken(entry.name) from None
    finally:
        temporary.unlink()
    return entry


def require_new(name: str) -> None:
    """UsageError for a name that is none, or that is in the registry already."""
    check_name(name)
    if _path(name).exists():
        raise _taken(name)


def is_up(entry: ClusterRecord, running: Sequence[ProcessIdentity]) -> ClusterRecord:
    """Write down that it is up, and which processes it consists of."""
    changed = msgspec.structs.replace(entry, state="up", processes=list(running))
    _written(changed).replace(_path(entry.name))
    return changed


def note_run(directory: pathlib.Path, run_id: str) -> None:
    """Write down that a run is about to make something on the cluster of this folder, if it is one of the registry."""
    for entry in known():
        if entry.path == directory.resolve():
            changed = msgspec.structs.replace(entry, runs=[*entry.runs, run_id])
            _written(changed).replace(_path(entry.name))


def forget(entry: ClusterRecord) -> None:
    """Nothing is left of it."""
    _path(entry.name).unlink(missing_ok=True)


def forget_interrupted_writes() -> None:
    """Remove what a process left that died while it wrote an entry."""
    for path in folder().glob(".*.new"):
        if not is_pid_of_any(path.name.split(".")[-2]):
            path.unlink(missing_ok=True)


def is_pid_of_any(text: str) -> bool:
    """Whether a process of this pid runs."""
    try:
        return has_not_ended(psutil.Process(int(text)))
    except (ValueError, psutil.NoSuchProcess):
        return False


def has_not_ended(process: psutil.Process) -> bool:
    """Whether it still runs. A zombie does not; its parent, which may be a slow init, has only not taken notice."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def identity(pid: int, name: str) -> ProcessIdentity:
    """Who this process is."""
    return ProcessIdentity(name=name, pid=pid, started=psutil.Process(pid).create_time())


def mark_children() -> ProcessIdentity:
    """Mark everything that this process starts from now on as its own; return who this process is."""
    owner = identity(os.getpid(), "flake-hunt")
    os.environ[MARK] = mark(owner)
    return owner


def mark(owner: ProcessIdentity) -> str:
    """What the processes carry that this owner starts: who it is, and which registry knows what of them is to stay."""
    return f"{owner.pid}@{owner.started!r}@{_registry_id()}"


def owner_of(carried: str) -> ProcessIdentity | None:
    """Who has put this mark on a process; None for a mark of another registry, which is none of our business."""
    parts = carried.split("@")
    try:
        pid, started, registry_id = int(parts[0]), float(parts[1]), parts[2]
    except (ValueError, IndexError):
        return None
    owner = ProcessIdentity(name="owner", pid=pid, started=started)
    return owner if registry_id == _registry_id() else None


@contextlib.contextmanager
def temporary_folder() -> Iterator[pathlib.Path]:
    """A folder for the time of the block; `cluster prune` removes it when this process is killed meanwhile."""
    with tempfile.TemporaryDirectory(prefix=f"{TEMPORARY_PREFIX}{os.getpid()}-") as name:
        yield pathlib.Path(name)


def check_name(name: str) -> None:
    """UsageError for a name that is not one of a folder: the folder is removed with everything in it."""
    if not _NAME.fullmatch(name):
        raise errors.UsageError(
            f"expected a cluster's name of lower-case letters, digits and dashes, got {name!r}"
        )


def _registry_id() -> str:
    return hashlib.sha256(str(folder().resolve()).encode()).hexdigest()[:16]


def _taken(name: str) -> errors.UsageError:
    return errors.UsageError(
        f"there is a cluster {name!r} already: take another --name, or remove it with "
        f"`flake-hunt cluster down {name}`"
    )


def _path(name: str) -> pathlib.Path:
    return folder() / f"{name}{SUFFIX}"


def _read(path: pathlib.Path) -> ClusterRecord:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ClusterRecord)
    except msgspec.DecodeError as error:
        raise errors.ClusterError(
            f"{path}: expected a cluster's entry ({error}); remove the file"
        ) from error


def _written(entry: ClusterRecord) -> pathlib.Path:
    """The entry in a file beside its place: it is put there in one step."""
    temporary = folder() / f".{entry.name}.{threading.get_ident()}.{os.getpid()}.new"
    with writing.explained(temporary):
        temporary.write_bytes(msgspec.json.encode(entry))
    return temporary
