"""The kind command: find it, run it, and tell its failures.

Every cluster has its own kubeconfig: kind's lock on a shared one gives up after 151 ms. Clusters
are not deleted through kind, whose `delete cluster` is `docker rm -f -v` of the containers with the
cluster's label: the engine is asked directly, which also works if kind is not installed any more.
"""

import contextlib
import fcntl
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator

from harness import clocks, errors, processes

EXPORT_TIMEOUT_S = 180.0
VERSION_TIMEOUT_S = 60.0
LOCK_TIMEOUT_S = 900.0
PULL_TIMEOUT_S = 1200.0
"""Time to pull the image, about a gigabyte, in addition to the profile's `wait_s`."""
_ENVIRONMENT = {"KIND_EXPERIMENTAL_PROVIDER": "docker"}
"""Overrides the user's default provider: podman's containers would never be removed."""
_VERSION = re.compile(r"kind v?(\d+\.\d+\.\d+)")
_SAID_MAX = 500
"""Characters of kind's own error in a message."""
_KNOWN_FAILURES = "kind.sigs.k8s.io/docs/user/known-issues"
_WITHOUT_NETWORK = (
    "\n  without a network: `docker save IMAGE -o node.tar` elsewhere, then "
    "--cluster image_archive=node.tar"
)
_HOW = "kind.sigs.k8s.io/docs/user/quick-start, docs.docker.com/engine/install"


def version(*, at_least: str) -> str:
    """Return the version of the kind command on PATH.

    Raises ClusterError if it, or the docker command that it calls, is missing, or it is too old.
    """
    for name in ("docker", "kind"):
        if shutil.which(name) is None:
            raise errors.ClusterError(
                f"expected the commands docker and kind v{at_least} or newer in PATH, found no "
                f"{name}: install it ({_HOW})"
            )
    path, said = shutil.which("kind") or "", ""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        asked = [path, "version"]
        ended = subprocess.run(
            asked, capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
        said = ended.stdout
    found = _VERSION.search(said)
    if found is None or _numbers(found[1]) < _numbers(at_least):
        raise errors.ClusterError(
            f"expected kind v{at_least} or newer, got {said[:80].strip()!r} ({path}): update it "
            f"({_HOW})"
        )
    return found[1]


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def create(
    name: str, *, config: pathlib.Path, kubeconfig: pathlib.Path, log: pathlib.Path, wait_s: int
) -> None:
    """Create a cluster. After a failure its containers stay, for their logs."""
    words = ["create", "cluster", "--name", name, "--config", str(config)]
    words += ["--kubeconfig", str(kubeconfig), "--wait", f"{wait_s}s", "--retain"]
    _run(words, log=log, timeout_s=wait_s + PULL_TIMEOUT_S)


def export_logs(name: str, to: pathlib.Path, *, log: pathlib.Path) -> None:
    _run(["export", "logs", str(to), "--name", name], log=log, timeout_s=EXPORT_TIMEOUT_S)


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Hold a lock for the `with` block, exclusive among this user's processes.

    A process that dies releases it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:

        def is_taken() -> bool:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        why = f"another flake-hunt to create the first kind cluster ({path})"
        clocks.wait_until(is_taken, timeout_s=LOCK_TIMEOUT_S, why=why, interval_s=0.1)
        yield


def _run(words: list[str], *, log: pathlib.Path, timeout_s: float) -> None:
    """Run kind to completion; its output is appended to the log."""
    start, name = log.stat().st_size if log.exists() else 0, f"kind {' '.join(words[:2])}"
    process = processes.start(name, ["kind", *words], log=log, env=_ENVIRONMENT)
    try:
        exit_code = process.wait(timeout_s=timeout_s)
    finally:
        process.kill()
    if exit_code is None:
        raise errors.ClusterError(f"expected `{name}` to end within {timeout_s:g} s; see {log}")
    if exit_code != 0:
        output = log.read_bytes()[start:].decode(errors="replace")
        said = " ".join(output.rpartition("ERROR: ")[2].split()) if "ERROR: " in output else ""
        hint = _WITHOUT_NETWORK if "failed to pull image" in said else ""
        raise errors.ClusterError(
            f"`{name}` failed: {said[:_SAID_MAX] or f'exit code {exit_code}'}{hint}\n  {log} (known failures "
            f"and their remedies: {_KNOWN_FAILURES}; `flake-hunt doctor kind`)"
        )
