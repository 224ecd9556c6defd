"""Checks of what each provider needs on this machine, with a remedy for each.

The only thing they create is the harness's own state folder.
"""

import functools
import os
import pathlib
import resource
import shutil
import socket
import sys
from collections.abc import Iterator

import psutil

from harness import errors, suggestions
from harness.cluster import providers, state_folder
from harness.cluster.doctor import diagnosis
from harness.cluster.kind import kind_command, kind_failures
from harness.cluster.local import binaries
from harness.scenario import profiles

PROVIDERS = ("embedded", "local", "kind", "kubeconfig")
OPEN_FILES_MIN = 1024
MEMORY_MIB_MIN = 1024
DISK_GIB_MIN = 1
INOTIFY_MIN = {"max_user_watches": 524_288, "max_user_instances": 512}
"""Minimum kernel limits; with the usual defaults the third or fourth cluster fails.

After kind's documentation (known issues, too many open files).
"""
_INOTIFY = pathlib.Path("/proc/sys/fs/inotify")
_MIB, _GIB = 1 << 20, 1 << 30


def examine(provider: str, *, contact: bool = True, folder: str = "") -> list[diagnosis.Finding]:
    """Check everything that this provider needs.

    `contact`: also send requests to an existing cluster; `folder`: folder of the binaries for
    `local`.
    """
    match provider:
        case "embedded":
            return list(_embedded())
        case "kind":
            return [*_kind_commands(), *_container_engine(), *_inotify()]
        case "kubeconfig" if not contact:
            return [_kubeconfig_file()]
        case "local":
            return list(_local(folder))
        case "kubeconfig":
            return [_checked(provider)]
        case _:
            raise errors.UsageError(
                f"expected one of {', '.join(PROVIDERS)}, got {provider!r} for --for."
                f"{suggestions.did_you_mean(provider, PROVIDERS)}"
            )


def _container_engine() -> list[diagnosis.Finding]:
    try:
        from harness.cluster.doctor import container_engine  # imports the docker SDK (0.3 s)
    except errors.MissingExtraError as error:
        missing = diagnosis.State.MISSING
        return [
            diagnosis.Finding(
                provider="kind",
                part="container engine",
                state=missing,
                seen="not examined",
                remedy=str(error),
            )
        ]
    return container_engine.examine()


def _embedded() -> Iterator[diagnosis.Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield diagnosis.judged(
        "embedded",
        "Python",
        good=sys.version_info >= (3, 11),
        seen=version,
        remedy="install Python 3.11 or newer, then: rm -rf .venv && make setup PYTHON=python3.11",
    )
    yield diagnosis.attempted("embedded", "loopback", _loopback)
    yield _open_files()
    memory = psutil.virtual_memory().available // _MIB
    yield diagnosis.judged(
        "embedded",
        "memory",
        good=memory >= MEMORY_MIB_MIN,
        seen=f"{memory} MiB available",
        remedy=f"a run of two processes needs {MEMORY_MIB_MIN} MiB: stop other programs, or hunt with --jobs 1",
        otherwise=diagnosis.State.WARNING,
    )
    yield _disk("embedded", pathlib.Path.cwd(), DISK_GIB_MIN)
    yield diagnosis.attempted("embedded", "state folder", lambda: str(state_folder.folder()))


def _loopback() -> str:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return "can listen on 127.0.0.1"
    except OSError as error:
        raise errors.HarnessError(
            f"expected to listen on 127.0.0.1 ({error.strerror}): sudo ip link set lo up"
        ) from error


def _open_files() -> diagnosis.Finding:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = hard == resource.RLIM_INFINITY or hard >= OPEN_FILES_MIN
    return diagnosis.judged(
        "embedded",
        "open files",
        good=enough,
        seen="unlimited" if hard == resource.RLIM_INFINITY else f"at most {hard}",
        remedy=f"ulimit -Hn {OPEN_FILES_MIN * 4} (as root; permanently in /etc/security/limits.conf)",
        otherwise=diagnosis.State.WARNING,
    )


def _disk(provider: str, folder: pathlib.Path, gib_min: int) -> diagnosis.Finding:
    free = shutil.disk_usage(folder).free / _GIB
    return diagnosis.judged(
        provider,
        "disk",
        good=free >= gib_min,
        seen=f"{free:.1f} GiB free for {folder}",
        remedy=f"a hunt writes up to {gib_min} GiB: free disk space, or choose another folder with --reports",
        otherwise=diagnosis.State.WARNING,
    )


def _local(folder: str) -> Iterator[diagnosis.Finding]:
    """Check the binaries of a control plane, required and optional ones."""

    def look(name: str) -> str:
        path = binaries.find(name, folder)
        found = binaries.version(path)
        binaries.require_new_enough(path, found)
        return f"{found} ({path})"

    for name in binaries.OLDEST:
        needed = name in binaries.NEEDED
        otherwise = diagnosis.State.MISSING if needed else diagnosis.State.WARNING
        part = name if needed else f"{name} (optional)"
        yield diagnosis.attempted("local", part, functools.partial(look, name), otherwise=otherwise)


def _checked(provider: str) -> diagnosis.Finding:
    def look() -> str:
        providers.of(profiles.load(provider)).check()
        return "everything it needs"

    return diagnosis.attempted(provider, provider, look)


def _kubeconfig_file() -> diagnosis.Finding:
    paths = os.environ.get("KUBECONFIG") or str(pathlib.Path("~/.kube/config").expanduser())
    existing = [path for path in paths.split(os.pathsep) if path and pathlib.Path(path).is_file()]
    return diagnosis.judged(
        "kubeconfig",
        "kubeconfig",
        good=bool(existing),
        seen=f"{existing[0]} (not contacted; doctor kubeconfig does)" if existing else "none",
        remedy="export KUBECONFIG=FILE of a test cluster",
    )


def _kind_commands() -> Iterator[diagnosis.Finding]:
    profile = profiles.load("kind")
    oldest = profile.kind_min if isinstance(profile, profiles.KindProfile) else "0.33.0"

    def kind() -> str:
        command = kind_command.find_kind(at_least=oldest)
        return f"v{'.'.join(map(str, command.version))} ({command.path})"

    yield diagnosis.attempted("kind", "kind command", kind)
    yield diagnosis.attempted("kind", "docker command", kind_command.find_docker)


def _inotify() -> Iterator[diagnosis.Finding]:
    """Check the kernel's inotify limits, which are not namespaced.

    They are irrelevant if the engine runs on another machine.
    """
    for name, least in INOTIFY_MIN.items():
        try:
            value = int((_INOTIFY / name).read_text())
        except (OSError, ValueError):
            continue  # not Linux: the engine's virtual machine has its own
        yield diagnosis.judged(
            "kind",
            f"inotify {name}",
            good=value >= least,
            seen=str(value),
            remedy=f"enough for two or three clusters; for more: {kind_failures.SYSCTL}",
            otherwise=diagnosis.State.WARNING,
        )
