"""Checks of this machine: what each provider needs, and how to meet what is missing.

Each provider checks for itself; warnings are of what it does not need for one cluster. Nothing is
started or changed here, except that the harness's own state folder is created.
"""

import dataclasses
import enum
import os
import pathlib
import resource
import shutil
import socket
from collections.abc import Callable, Iterator

import psutil

from harness import errors, suggestions
from harness.cluster import cluster_records, providers, state_folder
from harness.cluster.local import binaries
from harness.scenario import profiles

PROVIDERS = ("embedded", "local", "kind", "kubeconfig")
OPEN_FILES_MIN, MEMORY_MIB_MIN, DISK_GIB_MIN, ENGINE_MIB_MIN = 1024, 1024, 1, 2048
_INOTIFY = pathlib.Path("/proc/sys/fs/inotify")
_INOTIFY_MIN = {"max_user_watches": 524_288, "max_user_instances": 512}
"""With the usual limits of the kernel the third or fourth cluster of kind fails."""
_MIB, _GIB = 1 << 20, 1 << 30


class State(enum.StrEnum):
    """State of a finding."""

    OK = "ok"
    WARNING = "warning"
    """The provider may work, but more than one cluster or a later run may fail."""
    MISSING = "missing"
    """The provider cannot work."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one check."""

    provider: str
    part: str
    state: State
    seen: str
    remedy: str = ""


def examine(provider: str, *, contact: bool = True, folder: str = "") -> list[Finding]:
    """Check everything that this provider needs.

    `contact`: also send requests to an existing cluster; `folder`: folder of the binaries for
    `local`.
    """
    match provider:
        case "embedded":
            return list(_embedded())
        case "kind":
            return list(_kind())
        case "kubeconfig" if not contact:
            return [_kubeconfig_file()]
        case "local":
            return [_binary(name, folder) for name in binaries.OLDEST]
        case "kubeconfig":
            return [_checked(provider)]
    raise errors.UsageError(
        f"expected one of {', '.join(PROVIDERS)}, got {provider!r} for --for."
        f"{suggestions.did_you_mean(provider, PROVIDERS)}"
    )


def _warned(provider: str, part: str, remedy: str, *, good: bool, seen: str) -> Finding:
    state = State.OK if good else State.WARNING
    return Finding(
        provider=provider, part=part, state=state, seen=seen, remedy="" if good else remedy
    )


def _attempted(
    provider: str, part: str, look: Callable[[], object], otherwise: State = State.MISSING
) -> Finding:
    try:
        seen = str(look() or "everything it needs")
    except errors.HarnessError as error:
        return Finding(provider=provider, part=part, state=otherwise, seen="no", remedy=str(error))
    return Finding(provider=provider, part=part, state=State.OK, seen=seen)


def _checked(provider: str) -> Finding:
    return _attempted(provider, provider, lambda: providers.of(profiles.load(provider)).check())


def _embedded() -> Iterator[Finding]:
    yield _attempted("embedded", "loopback", _loopback)
    yield _attempted("embedded", "state folder", state_folder.folder)
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    memory = psutil.virtual_memory().available // _MIB
    free = shutil.disk_usage(pathlib.Path.cwd()).free / _GIB
    yield _warned(
        "embedded",
        "open files",
        f"ulimit -Hn {OPEN_FILES_MIN * 4} (as root; permanently in /etc/security/limits.conf)",
        good=files == resource.RLIM_INFINITY or files >= OPEN_FILES_MIN,
        seen="unlimited" if files == resource.RLIM_INFINITY else f"at most {files}",
    )
    yield _warned(
        "embedded",
        "memory",
        f"a run needs {MEMORY_MIB_MIN} MiB: stop other programs, or hunt with --jobs 1",
        good=memory >= MEMORY_MIB_MIN,
        seen=f"{memory} MiB available",
    )
    yield _warned(
        "embedded",
        "disk",
        f"a hunt writes up to {DISK_GIB_MIN} GiB: free some, or name a folder with --reports",
        good=free >= DISK_GIB_MIN,
        seen=f"{free:.1f} GiB free for {pathlib.Path.cwd()}",
    )


def _loopback() -> str:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return "can listen on 127.0.0.1"
    except OSError as error:
        raise errors.HarnessError(
            f"expected to listen on 127.0.0.1 ({error.strerror}): sudo ip link set lo up"
        ) from error


def _binary(name: str, folder: str) -> Finding:
    def look() -> str:
        path = binaries.find(name, folder)
        found = binaries.version(path)
        binaries.require_new_enough(path, found)
        return f"{found} ({path})"

    if name in binaries.NEEDED:
        return _attempted("local", name, look)
    return _attempted("local", f"{name} (optional)", look, State.WARNING)


def _kubeconfig_file() -> Finding:
    paths = os.environ.get("KUBECONFIG") or str(pathlib.Path("~/.kube/config").expanduser())
    existing = [path for path in paths.split(os.pathsep) if path and pathlib.Path(path).is_file()]
    return Finding(
        provider="kubeconfig",
        part="kubeconfig",
        state=State.OK if existing else State.MISSING,
        seen=f"{existing[0]} (not contacted; doctor kubeconfig does)" if existing else "none",
        remedy="" if existing else "export KUBECONFIG=FILE of a test cluster",
    )


def _kind() -> Iterator[Finding]:
    ready = _checked("kind")
    yield ready
    if ready.state is State.OK:
        yield from _engine()
    for name, least in _INOTIFY_MIN.items():
        try:
            value = int((_INOTIFY / name).read_text())
        except (OSError, ValueError):
            continue  # not Linux: the engine's virtual machine has its own
        remedy = f"enough for two or three clusters: sudo sysctl fs.inotify.{name}={least}"
        yield _warned("kind", f"inotify {name}", remedy, good=value >= least, seen=str(value))


def _engine() -> Iterator[Finding]:
    from harness.cluster.kind import docker_engine, node_containers  # the Docker SDK takes 0.3 s

    with docker_engine.connected(timeout_s=5) as engine:
        mib = engine.describe().get("MemTotal", 0) // _MIB
        made = {node.cluster for node in engine.nodes()}
    known = [entry for entry in cluster_records.known() if entry.provider == "kind"]
    left = sorted(made - {node_containers.cluster_name(entry.name) for entry in known})
    yield _warned(
        "kind",
        "engine's memory",
        f"one cluster needs {ENGINE_MIB_MIN} MiB: give the engine more memory",
        good=mib >= ENGINE_MIB_MIN,
        seen=f"{mib} MiB",
    )
    yield _warned(
        "kind",
        "left by earlier runs",
        "flake-hunt cluster prune 0",
        good=not left,
        seen=", ".join(left) or "nothing",
    )
