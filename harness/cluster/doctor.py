"""Checks of this machine: what each provider needs, and how to meet what is missing.

Each provider checks for itself; warnings are of what it does not need for one cluster. Nothing is
started or changed here, except that the harness's own state folder is created.
"""

import os
import pathlib
import resource
import shutil
import socket
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import psutil

from harness import errors, suggestions
from harness.cluster import providers, state_folder
from harness.scenario import profiles

PROVIDERS = ("embedded", "local", "kind", "kubeconfig")
OPEN_FILES_MIN, MEMORY_MIB_MIN, DISK_GIB_MIN = 1024, 1024, 1
_INOTIFY = pathlib.Path("/proc/sys/fs/inotify")
_INOTIFY_MIN = {"max_user_watches": 524_288, "max_user_instances": 512}
"""With the usual limits of the kernel the third or fourth cluster of kind fails."""
_MIB, _GIB = 1 << 20, 1 << 30


class Finding(NamedTuple):
    """Result of one check."""

    provider: str
    part: str
    state: Literal["ok", "warning", "missing"]
    """With a warning the provider may work, but several clusters or a later run may fail; with
    what is missing it cannot."""
    seen: str
    remedy: str = ""


def examine(provider: str, *, contact: bool = True) -> list[Finding]:
    """Check everything that this provider needs; `contact`: also send requests to a cluster."""
    match provider:
        case "embedded":
            return list(_embedded())
        case "kind":
            return [_checked(provider), *_inotify()]
        case "kubeconfig" if not contact:
            return [_kubeconfig_file()]
        case "local" | "kubeconfig":
            return [_checked(provider)]
    raise errors.UsageError(
        f"expected one of {', '.join(PROVIDERS)}, got {provider!r} for --for."
        f"{suggestions.did_you_mean(provider, PROVIDERS)}"
    )


def _attempted(provider: str, part: str, look: Callable[[], object]) -> Finding:
    try:
        return Finding(provider, part, "ok", str(look() or "everything it needs"))
    except errors.HarnessError as error:
        return Finding(provider, part, "missing", "no", str(error))


def _checked(provider: str) -> Finding:
    return _attempted(provider, provider, lambda: providers.of(profiles.load(provider)).check())


def _limited(provider: str, part: str, seen: str, *, good: bool, remedy: str) -> Finding:
    return Finding(provider, part, "ok" if good else "warning", seen, "" if good else remedy)


def _embedded() -> Iterator[Finding]:
    yield _attempted("embedded", "loopback", _loopback)
    yield _attempted("embedded", "state folder", state_folder.folder)
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    memory = psutil.virtual_memory().available // _MIB
    free = shutil.disk_usage(pathlib.Path.cwd()).free / _GIB
    is_unlimited = files == resource.RLIM_INFINITY
    yield _limited(
        "embedded",
        "open files",
        "unlimited" if is_unlimited else f"at most {files}",
        good=is_unlimited or files >= OPEN_FILES_MIN,
        remedy=f"ulimit -Hn {OPEN_FILES_MIN * 4} (as root; permanently in /etc/security/limits.conf)",
    )
    yield _limited(
        "embedded",
        "memory",
        f"{memory} MiB available",
        good=memory >= MEMORY_MIB_MIN,
        remedy=f"a run needs {MEMORY_MIB_MIN} MiB: stop other programs, or hunt with --jobs 1",
    )
    yield _limited(
        "embedded",
        "disk",
        f"{free:.1f} GiB free for {pathlib.Path.cwd()}",
        good=free >= DISK_GIB_MIN,
        remedy=f"a hunt writes up to {DISK_GIB_MIN} GiB: free some, or name a folder with --reports",
    )


def _loopback() -> str:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return "can listen on 127.0.0.1"
    except OSError as error:
        raise errors.HarnessError(
            f"expected to listen on 127.0.0.1 ({error.strerror}): sudo ip link set lo up"
        ) from error


def _kubeconfig_file() -> Finding:
    paths = os.environ.get("KUBECONFIG") or str(pathlib.Path("~/.kube/config").expanduser())
    for path in filter(os.path.isfile, paths.split(os.pathsep)):
        seen = f"{path} (not contacted; doctor kubeconfig does)"
        return Finding("kubeconfig", "kubeconfig", "ok", seen)
    remedy = "export KUBECONFIG=FILE of a test cluster"
    return Finding("kubeconfig", "kubeconfig", "missing", "none", remedy)


def _inotify() -> Iterator[Finding]:
    for name, least in _INOTIFY_MIN.items():
        try:
            value = int((_INOTIFY / name).read_text())
        except (OSError, ValueError):
            continue  # not Linux: the engine's virtual machine has its own
        remedy = f"enough for two or three clusters: sudo sysctl fs.inotify.{name}={least}"
        yield _limited("kind", f"inotify {name}", str(value), good=value >= least, remedy=remedy)
