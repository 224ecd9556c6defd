"""The kind command: find it, run it, and explain its failures.

Every cluster has its own kubeconfig: kind's lock on a shared one gives up after 151 ms. Clusters
are not deleted through kind, whose `delete cluster` is `docker rm -f -v` of the containers with the
cluster's label: the engine is asked directly, which also works if kind is not installed any more.
"""

import contextlib
import dataclasses
import fcntl
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from harness import clocks, errors, processes

COMMAND = "kind"
EXPORT_TIMEOUT_S = 180.0
VERSION_TIMEOUT_S = 20.0
LOCK_TIMEOUT_S = 900.0
PULL_TIMEOUT_S = 1200.0
"""Time to pull the image, about a gigabyte, in addition to the profile's `wait_s`."""
_ENVIRONMENT = {"KIND_EXPERIMENTAL_PROVIDER": "docker"}
"""Overrides the user's default provider: podman's containers would never be removed."""
_VERSION = re.compile(r"kind v?(\d+)\.(\d+)\.(\d+)")
_SAID_MAX = 500
"""Characters of kind's own error in a message."""
_KNOWN_FAILURES = "kind.sigs.k8s.io/docs/user/known-issues"
_INSTALL = "install kind v{} or newer (kind.sigs.k8s.io/docs/user/quick-start)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """An installed kind command."""

    path: str
    version: tuple[int, int, int]


def find(*, at_least: str) -> Kind:
    """Return the kind command. Raises ClusterError if it or docker is missing or too old."""
    find_docker()
    return find_kind(at_least=at_least)


def find_docker() -> str:
    """Return the path of the docker command, which kind calls.

    Raises ClusterError if there is none.
    """
    path = shutil.which("docker")
    if path is None:
        raise errors.ClusterError(
            "expected the command docker in PATH (kind calls it), found none: install Docker's "
            "command line (docs.docker.com/engine/install)"
        )
    return path


def find_kind(*, at_least: str) -> Kind:
    """Return the kind command on PATH. Raises ClusterError if it is missing or too old."""
    path = shutil.which(COMMAND)
    if path is None:
        raise errors.ClusterError(
            f"expected the command kind in PATH, found none: {_INSTALL.format(at_least)}"
        )
    kind = Kind(path=path, version=version_of(path))
    if kind.version < numbers(at_least):
        shown = ".".join(map(str, kind.version))
        raise errors.ClusterError(
            f"expected kind v{at_least} or newer, got v{shown} ({path}): {_INSTALL.format(at_least)}"
        )
    return kind


def version_of(path: str) -> tuple[int, int, int]:
    """Return the version that the kind command reports."""
    try:
        answer = subprocess.run(
            [path, "version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise errors.ClusterError(f"expected `{path} version` to run ({error})") from error
    match = _VERSION.search(answer.stdout)
    if match is None:
        raise errors.ClusterError(
            f"expected `{path} version` to print `kind v0.33.0 …`, got {answer.stdout[:80]!r}"
        )
    return int(match[1]), int(match[2]), int(match[3])


def numbers(version: str) -> tuple[int, int, int]:
    """Parse a version into a tuple that can be compared."""
    major, minor, patch = version.split(".")
    return int(major), int(minor), int(patch)


def create(
    kind: Kind,
    name: str,
    *,
    config: pathlib.Path,
    kubeconfig: pathlib.Path,
    log: pathlib.Path,
    wait_s: int,
) -> None:
    """Create a cluster. After a failure its containers stay, for their logs."""
    _run(
        kind,
        ("create", "cluster", "--name", name, "--config", str(config)),
        ("--kubeconfig", str(kubeconfig), "--wait", f"{wait_s}s", "--retain"),
        log=log,
        timeout_s=wait_s + PULL_TIMEOUT_S,
    )


def export_logs(kind: Kind, name: str, to: pathlib.Path, *, log: pathlib.Path) -> None:
    """Write the journals and the pods' logs of every node to a folder."""
    _run(kind, ("export", "logs", str(to), "--name", name), log=log, timeout_s=EXPORT_TIMEOUT_S)


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Hold a lock for the `with` block, exclusive among this user's processes.

    A process that dies releases it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        clocks.wait_until(
            lambda: _try_lock(stream.fileno()),
            timeout_s=LOCK_TIMEOUT_S,
            why=f"another flake-hunt to create the first kind cluster ({path})",
            interval_s=0.1,
        )
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _run(
    kind: Kind,
    *arguments: tuple[str, ...],
    log: pathlib.Path,
    timeout_s: float,
) -> None:
    """Run kind to completion; its output is appended to the log."""
    words = [word for part in arguments for word in part]
    start = log.stat().st_size if log.exists() else 0
    process = processes.start(f"kind {words[0]}", [kind.path, *words], log=log, env=_ENVIRONMENT)
    try:
        exit_code = process.wait(timeout_s=timeout_s)
    finally:
        process.kill()
    if exit_code is None:
        raise errors.ClusterError(
            f"expected `kind {' '.join(words[:2])}` to end within {timeout_s:g} s; see {log}"
        )
    if exit_code != 0:
        with log.open("rb") as stream:
            stream.seek(start)
            output = stream.read().decode(errors="replace")
        raise errors.ClusterError(_failure(words, exit_code, output, log))


def _failure(words: Sequence[str], exit_code: int, output: str, log: pathlib.Path) -> str:
    """Return what kind said of a failed command, and where the rest is."""
    said = " ".join(output.rpartition("ERROR: ")[2].split()) if "ERROR: " in output else ""
    detail = said[:_SAID_MAX] or f"exit code {exit_code}"
    if "failed to pull image" in said:
        detail += "\n  without a network: `docker save IMAGE -o node.tar` elsewhere, then --cluster image_archive=node.tar"
    return (
        f"`kind {' '.join(words[:2])}` failed: {detail}\n  {log} (known failures and their remedies: "
        f"{_KNOWN_FAILURES}; `flake-hunt doctor kind`)"
    )
