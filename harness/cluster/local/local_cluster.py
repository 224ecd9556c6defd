"""The `local` provider: real etcd and kube-apiserver binaries as processes on loopback.

After controller-runtime's envtest; no Docker is needed.
"""

import contextlib
import pathlib
import shutil
from collections.abc import Callable, Mapping, Sequence

from harness import errors, processes, tls_authorities
from harness.client import apis, kubeconfig_files, kubeconfigs, transports
from harness.cluster import (
    audit_logs,
    components,
    control_plane_settings,
    interfaces,
    loopback_ports,
)
from harness.cluster.local import binaries, control_plane
from harness.scenario import profiles

CERTIFICATE_DAYS = 30
"""Validity of the cluster's certificates."""
USER, GROUP = "flake-hunt", "system:masters"
"""The harness's user; the group is exempt from priority and fairness."""
API_SERVER, MANAGER = "kube-apiserver", "kube-controller-manager"
READY_TIMEOUT_S = 60.0
TRIES = 3
"""Attempts to start: a port that was free may be taken a moment later. Each attempt starts all
processes again with other ports."""


class PortTakenError(errors.ClusterError):
    """Another program took a port after it was chosen and before it was used."""


class LocalCluster(interfaces.Cluster):
    """A control plane."""

    def __init__(
        self,
        profile: profiles.LocalProfile,
        request: interfaces.ClusterRequest,
        versions: Mapping[str, str],
    ) -> None:
        """Choose its places; `start` starts it."""
        self.name, self.versions = request.name, versions
        self._profile, self._request = profile, request
        self.files = control_plane.files_of(profile, request)
        self.kubeconfig = self.files.kubeconfig
        self.audit_log = self.files.audit_log
        self.ports = control_plane.Ports(**_free_ports("etcd", "etcd_peer", "apiserver"))
        self.running: list[components.Component] = []
        """The processes in the order in which to stop them: etcd last."""

    @property
    def pids(self) -> list[int]:
        return [component.pid for component in self.running]

    def exit_report(self) -> str | None:
        """Return how processes ended; None while all run or are being restarted.

        One component's end can be the consequence of another's.
        """
        reports = (component.exit_report() for component in self.running)
        return "; ".join(filter(None, reports)) or None

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        return self.controlled(API_SERVER).restart(
            kill=kill, down_s=down_s, ports=[self.ports.apiserver]
        )

    def controlled(self, name: str) -> components.Component:
        return next(item for item in self.running if item.name == name)

    def down(self) -> None:
        for component in self.running:
            component.stop()
        audit_logs.remove(self.files.audit_log)
        self.files.remove()

    def start(self) -> None:
        """Start all processes. Raises PortTakenError, or another ClusterError."""
        self._write_files()
        profile, files, ports = self._profile, self.files, self.ports
        etcd = self._binary("etcd")
        has_option = binaries.is_at_least(self.versions["etcd"], control_plane.NO_FSYNC_SINCE)
        no_fsync = profile.unsafe_no_fsync and has_option
        client = kubeconfigs.Endpoint(host=loopback_ports.ADDRESS, port=ports.etcd, tls=False)
        self._start(
            "etcd",
            control_plane.etcd(etcd, files, ports, no_fsync=no_fsync),
            lambda: transports.answers(transports.HttpTransport(client), "/health"),
        )
        server = self._binary(API_SERVER)
        argv = control_plane.apiserver(server, files, ports, profile)
        # the API server creates the namespace of leases a little later than it is ready
        leases = apis.NAMESPACES.path(None, "kube-node-lease")
        self._start(API_SERVER, argv, lambda: self._finds("/readyz") and self._finds(leases))
        if MANAGER in self.versions:
            manager = self._binary(MANAGER)
            argv = control_plane.controller_manager(manager, files, profile)
            # it opens no port for a readiness check: its first service account shows that it works
            account = apis.SERVICE_ACCOUNTS.path("default", "default")
            self._start(MANAGER, argv, lambda: self._finds(account))

    def _write_files(self) -> None:
        for folder in (self.files.secrets, self.files.data):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700)
        self.files.audit_policy.write_text(control_plane_settings.audit_policy())
        authority = tls_authorities.Authority("flake-hunt-local", days=CERTIFICATE_DAYS)
        folder = self.files.secrets
        (folder / "authority.crt").write_bytes(authority.certificate)
        tls_authorities.write(folder, "service-accounts", tls_authorities.signing_keys())
        server = authority.server("kube-apiserver", control_plane.SERVER_NAMES)
        tls_authorities.write(folder, "apiserver", server)
        pair = authority.client(USER, GROUP)
        certificate, key = tls_authorities.write(folder, "client", pair)
        cluster = {
            "server": f"https://{loopback_ports.ADDRESS}:{self.ports.apiserver}",
            "certificate-authority": self.files.secret("authority.crt"),
        }
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        document = kubeconfig_files.of_server(cluster, user, name=self._request.name)
        kubeconfig_files.write(self.kubeconfig, document)

    def _finds(self, path: str) -> bool:
        return transports.answers(transports.connect(self.kubeconfig), path)

    def _start(self, name: str, argv: Sequence[str], is_ready: Callable[[], bool]) -> None:
        log = self._request.directory / f"{name}.log"
        log.unlink(missing_ok=True)  # left by an attempt whose port was taken

        def start() -> processes.Process:
            try:
                return processes.start_until(
                    name,
                    argv,
                    is_ready,
                    log=log,
                    timeout_s=READY_TIMEOUT_S,
                    with_parent=not self._request.stays,
                )
            except (errors.ProcessError, errors.WaitTimeoutError) as error:
                is_taken = "address already in use" in str(error)
                raise (PortTakenError if is_taken else errors.ClusterError)(str(error)) from error

        self.running.insert(0, components.Component(name, start))

    def _binary(self, name: str) -> pathlib.Path:
        return binaries.find(name, self._profile.binaries)


class Provider(interfaces.Provider[profiles.LocalProfile]):
    """Starts local control planes."""

    @property
    def capabilities(self) -> interfaces.Capabilities:
        managed = _has_manager(self._profile)
        is_whole = self._profile.controller_manager is True and self._profile.claim_controller
        return interfaces.Capabilities(
            claim_controller=is_whole,
            claim_controller_process=MANAGER if is_whole else "",
            namespace_controller=managed,
            garbage_collector=managed,
            restarts_api_server=True,
        )

    def check(self) -> None:
        self._versions()

    def up(self, request: interfaces.ClusterRequest) -> LocalCluster:
        versions = self._versions()
        attempt = 1
        while True:
            cluster = LocalCluster(self._profile, request, versions)
            try:
                cluster.start()
            except BaseException as error:
                cluster.down()
                if attempt == TRIES or not isinstance(error, PortTakenError):
                    raise
            else:
                return cluster
            attempt += 1

    def is_there(self, request: interfaces.ClusterRequest) -> bool:
        return control_plane.files_of(self._profile, request).secrets.is_dir()

    def reap(self, request: interfaces.ClusterRequest) -> None:
        control_plane.files_of(self._profile, request).remove()

    def _versions(self) -> dict[str, str]:
        names = [*binaries.NEEDED]
        if _has_manager(self._profile):
            names.append(MANAGER)
        versions = {}
        for name in names:
            path = binaries.find(name, self._profile.binaries)
            versions[name] = binaries.version(path)
            binaries.require_new_enough(path, versions[name])
        return versions


def _has_manager(profile: profiles.LocalProfile) -> bool:
    if profile.controller_manager == "auto":
        return binaries.is_there(MANAGER, profile.binaries)
    return profile.controller_manager


def _free_ports(*names: str) -> dict[str, int]:
    with contextlib.ExitStack() as kept:
        keepers = {name: kept.enter_context(loopback_ports.keeper()) for name in names}
        return {name: keeper.getsockname()[1] for name, keeper in keepers.items()}
