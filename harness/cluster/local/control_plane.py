"""Command lines and files of etcd, kube-apiserver and kube-controller-manager."""

import dataclasses
import os
import pathlib
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from harness.cluster import audit_logs, control_plane_settings, interfaces, loopback_ports
from harness.scenario import profiles

SERVICE_RANGE = "10.0.0.0/24"
SERVICE_ADDRESS = "10.0.0.1"
"""The first address of the range, which the service `kubernetes` gets."""
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    loopback_ports.ADDRESS,
    SERVICE_ADDRESS,
)
"""Names and addresses in the API server's certificate."""
NO_FSYNC_SINCE = "v3.5.0"
"""First etcd version with `--unsafe-no-fsync`."""
IN_FLIGHT_MAX = 3000, 1000
"""The same limits of requests, and of writes, as in the kind profiles."""
COLLECTORS = ("garbage-collector-controller", "namespace-controller", "serviceaccount-controller")
"""Controllers that a cluster needs in which another one makes the claims. The last one shows that
they have begun."""
GROUP_CONTROLLER = "podgroup-protection-controller"
WITHOUT_CLAIM_CONTROLLER = "*,-resourceclaim-controller,-device-taint-eviction-controller"
"""Value of --controllers for a run that brings its own claim controller, which evicts, too."""
NODE_MONITOR_GRACE = "240h"
"""How long a node stays Ready without a heartbeat."""
MEMORY = pathlib.Path("/dev/shm")  # noqa: S108 - must be a tmpfs; the folder in it is private
MEMORY_FREE_MIN_BYTES = 512 << 20
"""Free space required in /dev/shm. A container usually has 64 MiB, which etcd's first log file
alone would fill."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Paths of one cluster's files; all but the logs are removed with it."""

    logs: pathlib.Path
    """Folder of the logs, with the audit log."""
    data_folders: tuple[pathlib.Path, pathlib.Path]
    """The possible folders of etcd's data, in memory and on disk."""
    in_memory: bool = False

    @property
    def data(self) -> pathlib.Path:
        memory, disk = self.data_folders
        return memory if self.in_memory else disk

    @property
    def secrets(self) -> pathlib.Path:
        return self.logs / "secrets"

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.logs / "kubeconfig"

    @property
    def audit_policy(self) -> pathlib.Path:
        return self.logs / "audit-policy.yaml"

    @property
    def audit_log(self) -> pathlib.Path:
        return self.logs / audit_logs.NAME

    def secret(self, name: str) -> str:
        return str(self.secrets / name)

    def remove(self) -> None:
        """Remove them, also the data that another process has put into memory or on disk."""
        for folder in (self.secrets, *self.data_folders):
            shutil.rmtree(folder, ignore_errors=True)
        self.kubeconfig.unlink(missing_ok=True)


def files_of(profile: profiles.LocalProfile, request: interfaces.ClusterRequest) -> Files:
    folder = request.directory.resolve()
    in_memory = profile.storage == "memory" and os.access(MEMORY, os.W_OK)
    return Files(
        logs=folder,
        data_folders=(MEMORY / f"flake-hunt-{os.getuid()}-{request.name}", folder / "etcd-data"),
        in_memory=in_memory and shutil.disk_usage(MEMORY).free >= MEMORY_FREE_MIN_BYTES,
    )


class Ports(NamedTuple):
    """Ports on loopback."""

    etcd: int
    etcd_peer: int
    apiserver: int


def etcd(binary: pathlib.Path, files: Files, ports: Ports, *, no_fsync: bool) -> list[str]:
    """Return the command line of a single etcd member, plain HTTP on loopback."""
    client, peer = (
        f"http://{loopback_ports.ADDRESS}:{ports.etcd}",
        f"http://{loopback_ports.ADDRESS}:{ports.etcd_peer}",
    )
    flags: dict[str, object] = {
        "name": "flake-hunt",
        "data-dir": files.data,
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"flake-hunt={peer}",
        "logger": "zap",
        "log-outputs": "stderr",
    }
    if no_fsync:
        flags["unsafe-no-fsync"] = "true"
    return _command(binary, flags)


def apiserver(
    binary: pathlib.Path, files: Files, ports: Ports, profile: profiles.LocalProfile
) -> list[str]:
    """Return the command line of kube-apiserver, with TLS on loopback.

    Pods need no service account, because there may be no controller to create one.
    """
    flags: dict[str, object] = {
        "etcd-servers": f"http://{loopback_ports.ADDRESS}:{ports.etcd}",
        "bind-address": loopback_ports.ADDRESS,
        "advertise-address": loopback_ports.ADDRESS,
        "secure-port": ports.apiserver,
        "endpoint-reconciler-type": "none",  # a service may not have a loopback address
        "tls-cert-file": files.secret("apiserver.crt"),
        "tls-private-key-file": files.secret("apiserver.key"),
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": files.secret("service-accounts.crt"),
        "service-account-signing-key-file": files.secret("service-accounts.key"),
        "service-cluster-ip-range": SERVICE_RANGE,
        "authorization-mode": "RBAC",
        "disable-admission-plugins": "ServiceAccount",
        "client-ca-file": files.secret("authority.crt"),
        **control_plane_settings.server_flags(
            profile.watch_cache,
            in_flight=None if profile.priority_and_fairness else IN_FLIGHT_MAX,
            audit=(files.audit_policy, files.audit_log) if profile.audit_log else None,
        ),
        **_gates(profile.feature_gates),
    }
    if profile.runtime_config:
        pairs = (f"{name}={value}" for name, value in sorted(profile.runtime_config.items()))
        flags["runtime-config"] = ",".join(pairs)
    return _command(binary, flags)


def controller_manager(
    binary: pathlib.Path, files: Files, profile: profiles.LocalProfile
) -> list[str]:
    """Return the command line of kube-controller-manager.

    It runs all controllers, all but one, or COLLECTORS, without leader election, and tolerates fake
    nodes.
    """
    flags: dict[str, object] = {
        "kubeconfig": files.kubeconfig,
        "leader-elect": "false",
        "secure-port": 0,
        "service-account-private-key-file": files.secret("service-accounts.key"),
        "root-ca-file": files.secret("authority.crt"),
        "node-monitor-grace-period": NODE_MONITOR_GRACE,
        **control_plane_settings.CONTROLLER_REQUESTS,
        **_gates(profile.feature_gates),
    }
    if profile.controller_manager == "auto":
        has_groups = profile.feature_gates.get("GenericWorkload", False)
        flags["controllers"] = ",".join([*COLLECTORS, *[GROUP_CONTROLLER] * has_groups])
    elif not profile.claim_controller:
        flags["controllers"] = WITHOUT_CLAIM_CONTROLLER
    return _command(binary, flags)


def _gates(chosen: Mapping[str, bool]) -> Mapping[str, object]:
    if not chosen:
        return {}
    pairs = (f"{name}={str(on).lower()}" for name, on in sorted(chosen.items()))
    return {"feature-gates": ",".join(pairs)}


def _command(binary: pathlib.Path, flags: Mapping[str, object]) -> list[str]:
    return [str(binary), *(f"--{name}={value}" for name, value in flags.items())]
