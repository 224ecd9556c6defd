"""Explanations and remedies for the kind command's error messages."""

import dataclasses
import pathlib
from collections.abc import Sequence

from harness import errors

SYSCTL = "sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """A message in kind's output, in lower case, and the remedy."""

    sign: str
    remedy: str


_NAME_TAKEN = _Known(
    "node(s) already exist for a cluster with the name",
    "a cluster of this name already exists: `flake-hunt cluster prune` removes the leftovers of "
    "dead runs, `kind delete cluster --name NAME` any other cluster",
)
_NOT_PULLED = _Known(
    "failed to pull image",
    "the node image is not present and could not be pulled. Check the network; or use an archive "
    "(`docker save IMAGE -o node.tar` on another machine): --cluster image_archive=node.tar",
)
_NOT_ALLOWED = _Known(
    "permission denied while trying to connect to the docker",
    "you have no permission to use the container engine: sudo usermod -aG docker $USER, then log in again",
)
_NO_ENGINE = _Known(
    "cannot connect to the docker daemon",
    "the container engine does not respond: sudo systemctl start docker",
)
_INOTIFY = _Known("too many open files", f"raise the inotify limits: {SYSCTL}")
_NO_BOOT = _Known(
    "could not find a log line that matches",
    f"the node did not boot, most often because of too few inotify watches: {SYSCTL}",
)
_DISK_FULL = _Known(
    "no space left on device",
    "the engine's disk is full: `docker system df`, then `docker system prune`",
)
_NO_SUBNET = _Known(
    "non-overlapping ipv4 address pool",
    "the engine has no subnet left for a network: `docker network prune`",
)
_PORT_TAKEN = _Known("port is already allocated", "another program took the port: try again")
_ADDRESS_TAKEN = _Known("address already in use", "another program took the port: try again")
_NO_MOUNT = _Known(
    "mounts denied",
    "the engine cannot access this folder: share it (Docker Desktop, Settings, Resources, File sharing)",
)
_NO_KUBERNETES = _Known(
    "failed to init node with kubeadm",
    "Kubernetes did not start in the node; its logs were exported. Too little memory or CPU is the "
    "usual reason: `flake-hunt doctor kind`",
)
_ROOTLESS = _Known(
    "requires cgroup v2",
    "a rootless engine needs cgroup v2: boot with systemd.unified_cgroup_hierarchy=1",
)
_CGROUP_V1 = _Known(
    "kubelet is configured to not run on a host using cgroup v1",
    "the kubelet of Kubernetes 1.35 and newer does not run on cgroup v1 unless it is configured with failCgroupV1: false, "
    "which Flake Hunt sets if `docker info` reports version 1: boot with systemd.unified_cgroup_hierarchy=1, or use --cluster kind-1.34",
)
_JOURNALS = ("kubelet.log", "journal.log")
"""Log files of a node, as `kind export logs` writes them."""
# The order matters: a pull may fail because the disk is full, and kubeadm's failure quotes earlier
# errors.
_ALL = (
    _NAME_TAKEN,
    _NOT_ALLOWED,
    _NO_ENGINE,
    _DISK_FULL,
    _NOT_PULLED,
    _INOTIFY,
    _NO_BOOT,
    _NO_SUBNET,
    _PORT_TAKEN,
    _ADDRESS_TAKEN,
    _NO_MOUNT,
    _CGROUP_V1,
    _NO_KUBERNETES,
    _ROOTLESS,
)


def explain(words: Sequence[str], exit_code: int, output: str, log: pathlib.Path) -> str:
    """Return one message for a failed kind command: the remedy, kind's error and the log's path."""
    lowered = output.lower()
    remedy = next((known.remedy for known in _ALL if known.sign in lowered), f"see {log}")
    error_lines = [
        line for line in map(str.strip, output.splitlines()) if line.startswith("ERROR: ")
    ]
    detail = (
        error_lines[-1].removeprefix("ERROR: ")
        if error_lines
        else f"nothing; exit code {exit_code}"
    )
    return f"`kind {' '.join(words[:2])}` failed: {remedy}\n  kind said: {_short(detail)}\n  {log}"


def explain_by_journals(error: errors.ClusterError, exported: pathlib.Path) -> None:
    """Raise ClusterError if a node's journal explains the failure.

    kubeadm itself reports only that the kubelet is not healthy.
    """
    for journal in (path for name in _JOURNALS for path in sorted(exported.glob(f"*/{name}"))):
        if _CGROUP_V1.sign in journal.read_text(errors="replace").lower():
            raise errors.ClusterError(
                f"{_CGROUP_V1.remedy}\n  (according to {journal}). {error}"
            ) from error


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
