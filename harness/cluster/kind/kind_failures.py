"""What the kind command's error messages mean, and what to do about them."""

import dataclasses
import pathlib
from collections.abc import Sequence

from harness import errors

SYSCTL = "sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """A sign in kind's output, in lower case, and the remedy."""

    sign: str
    remedy: str


_NAME_TAKEN = _Known(
    "node(s) already exist for a cluster with the name",
    "a cluster of this name is there already: `flake-hunt cluster prune` removes what a dead run "
    "left, `kind delete cluster --name NAME` any other",
)
_NOT_PULLED = _Known(
    "failed to pull image",
    "the node image is not here and could not be pulled. Look at the network; or bring an archive "
    "(`docker save IMAGE -o node.tar` where there is one) and give it: --cluster-set image_archive=node.tar",
)
_NOT_ALLOWED = _Known(
    "permission denied while trying to connect to the docker",
    "you may not use the container engine: sudo usermod -aG docker $USER, then log in again",
)
_NO_ENGINE = _Known(
    "cannot connect to the docker daemon",
    "the container engine does not answer: sudo systemctl start docker",
)
_INOTIFY = _Known("too many open files", f"raise the inotify limits: {SYSCTL}")
_NO_BOOT = _Known(
    "could not find a log line that matches",
    f"the node did not boot, most often for want of inotify watches: {SYSCTL}",
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
    "the engine may not see this folder: share it (Docker Desktop, Settings, Resources, File sharing)",
)
_NO_KUBERNETES = _Known(
    "failed to init node with kubeadm",
    "Kubernetes did not start in the node; its logs were exported. Too little memory or CPU is the "
    "usual reason: `flake-hunt doctor --for kind`",
)
_ROOTLESS = _Known(
    "requires cgroup v2",
    "a rootless engine needs cgroup v2: boot with systemd.unified_cgroup_hierarchy=1",
)
_CGROUP_V1 = _Known(
    "kubelet is configured to not run on a host using cgroup v1",
    "the kubelet of Kubernetes 1.35 and newer does not run on cgroup v1 unless it is configured with failCgroupV1: false, "
    "which Flake Hunt does where `docker info` reports version 1: boot with systemd.unified_cgroup_hierarchy=1, or use --cluster kind-1.34",
)
_JOURNALS = ("kubelet.log", "journal.log")
"""Of a node, as `kind export logs` writes them."""
# The order matters: a pull fails because the disk is full, and kubeadm's failure quotes what went wrong before it.
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
    """One message for a kind command that failed: what to do, what kind said, where all of it is."""
    lowered = output.lower()
    remedy = next((known.remedy for known in _ALL if known.sign in lowered), f"see {log}")
    said = [line for line in map(str.strip, output.splitlines()) if line.startswith("ERROR: ")]
    detail = said[-1].removeprefix("ERROR: ") if said else f"nothing; exit code {exit_code}"
    return f"`kind {' '.join(words[:2])}` failed: {remedy}\n  kind said: {_short(detail)}\n  {log}"


def explain_by_journals(error: errors.ClusterError, exported: pathlib.Path) -> None:
    """Raise a ClusterError with the reason that only a node's journal names: kubeadm says no more than that the kubelet is not healthy."""
    for journal in (path for name in _JOURNALS for path in sorted(exported.glob(f"*/{name}"))):
        if _CGROUP_V1.sign in journal.read_text(errors="replace").lower():
            raise errors.ClusterError(
                f"{_CGROUP_V1.remedy}\n  {journal} says so. {error}"
            ) from error


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
