"""The `local` provider: real etcd and kube-apiserver binaries as processes on loopback.

After controller-runtime's envtest; no Docker is needed.
"""

import contextlib
import dataclasses
import pathlib
import shutil
from collections.abc import Callable, Mapping, Sequence

from harness import errors, processes, tls_authorities
from harness.client import apis, kubeconfig_files, kubeconfigs, transports
from harness.cluster import components, control_plane_settings, interfaces, loopback_ports
from harness.cluster.local import binaries, control_plane
from harness.scenario import profiles

CERTIFICATE_DAYS = 30
"""Validity of the cluster's certificates."""
USER, GROUP = "flake-hunt", "system:masters"
"""The harness's user; the group is exempt from priority and fairness."""
KUBECONFIG = "kubeconfig"
API_SERVER, MANAGER = "kube-apiserver", "kube-controller-manager"
READY_TIMEOUT_S = 60.0
TRIES = 3
"""Attempts to start: a port that was free may be taken a moment later.

Each attempt starts all processes again with other ports.
"""


class PortTakenError(errors.ClusterError):
    """Another program took a port after it was chosen and before it was used."""


@dataclasses.dataclass(kw_only=True)
class LocalCluster(interfaces.Cluster):
    """A running control plane."""

    name: str
    kubeconfig: pathlib.Path
    versions: Mapping[str, str]
    files: control_plane.Files
    ports: control_plane.Ports
    running: Sequence[components.Component]
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

    def audit_position(self) -> int:
        return control_plane_settings.audit_position(self.files.audit_log)

    def save_audit_log(self, into: pathlib.Path, *, after: int) -> None:
        control_plane_settings.save_audit(self.files.audit_log, into, after=after)

    def down(self) -> None:
        for component in self.running:
            component.stop()
        control_plane_settings.remove_audit(self.files.audit_log)
        control_plane.remove_files(self.kubeconfig, self.files.secrets, self.files.data)


class Provider(interfaces.Provider):
    """Starts local control planes."""

    def __init__(self, profile: profiles.LocalProfile) -> None:
        self._profile = profile

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
        for attempt in range(1, TRIES + 1):
            starting = _Starting(self._profile, request, versions)
            try:
                return starting.start()
            except PortTakenError:
                starting.undo()
                if attempt == TRIES:
                    raise
            except BaseException:
                starting.undo()
                raise
        raise AssertionError("the last attempt returns or raises")

    def is_there(self, request: interfaces.ClusterRequest) -> bool:
        return control_plane.files_of(self._profile, request).secrets.is_dir()

    def reap(self, request: interfaces.ClusterRequest) -> None:
        secrets_folder = control_plane.files_of(self._profile, request).secrets
        control_plane.remove_files(
            request.directory / KUBECONFIG, secrets_folder, *control_plane.data_folders(request)
        )

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


class _Starting:
    """One attempt to start all processes."""

    def __init__(
        self,
        profile: profiles.LocalProfile,
        request: interfaces.ClusterRequest,
        versions: Mapping[str, str],
    ) -> None:
        self._profile, self._request, self._versions = profile, request, versions
        self._files = control_plane.files_of(profile, request)
        self._kubeconfig = request.directory / KUBECONFIG
        self._ports = control_plane.Ports(**_free_ports("etcd", "etcd_peer", "apiserver"))
        self._running: list[components.Component] = []

    def start(self) -> LocalCluster:
        self._write_files()
        self._start_etcd()
        self._start_apiserver()
        if MANAGER in self._versions:
            self._start_controller_manager()
        return LocalCluster(
            name=self._request.name,
            kubeconfig=self._kubeconfig,
            versions=self._versions,
            files=self._files,
            ports=self._ports,
            running=tuple(reversed(self._running)),
        )

    def undo(self) -> None:
        for component in reversed(self._running):
            component.process.kill()
        control_plane.remove_files(self._kubeconfig, self._files.secrets, self._files.data)

    # -------------------------------------------------------------------------- files

    def _write_files(self) -> None:
        for folder in (self._files.secrets, self._files.data):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700)
        self._files.audit_policy.write_text(control_plane_settings.audit_policy())
        authority = tls_authorities.Authority("flake-hunt-local", days=CERTIFICATE_DAYS)
        folder = self._files.secrets
        (folder / "authority.crt").write_bytes(authority.certificate)
        tls_authorities.write(folder, "service-accounts", tls_authorities.signing_keys())
        server = authority.server("kube-apiserver", control_plane.SERVER_NAMES)
        tls_authorities.write(folder, "apiserver", server)
        pair = authority.client(USER, GROUP)
        certificate, key = tls_authorities.write(folder, "client", pair)
        cluster = {
            "server": f"https://{control_plane.ADDRESS}:{self._ports.apiserver}",
            "certificate-authority": self._files.secret("authority.crt"),
        }
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        document = kubeconfig_files.of_server(cluster, user, name=self._request.name)
        kubeconfig_files.write(self._kubeconfig, document)

    # ---------------------------------------------------------------------- processes

    def _start_etcd(self) -> None:
        binary = self._binary("etcd")
        no_fsync = self._profile.unsafe_no_fsync and binaries.is_at_least(
            self._versions["etcd"], control_plane.NO_FSYNC_SINCE
        )
        argv = control_plane.etcd(binary, self._files, self._ports, no_fsync=no_fsync)
        endpoint = kubeconfigs.Endpoint(
            host=control_plane.ADDRESS, port=self._ports.etcd, tls=False
        )
        self._start(
            "etcd", argv, lambda: transports.answers(transports.HttpTransport(endpoint), "/health")
        )

    def _start_apiserver(self) -> None:
        binary = self._binary(API_SERVER)
        argv = control_plane.apiserver(binary, self._files, self._ports, self._profile)
        self._start(API_SERVER, argv, self._is_api_ready)

    def _start_controller_manager(self) -> None:
        """Start kube-controller-manager and wait for its first service account.

        It opens no port for a readiness check.
        """
        binary = self._binary(MANAGER)
        argv = control_plane.controller_manager(
            binary, self._files, self._kubeconfig, self._profile
        )
        self._start(
            MANAGER,
            argv,
            lambda: self._finds(apis.SERVICE_ACCOUNTS.path("default", "default")),
        )

    def _is_api_ready(self) -> bool:
        """Return whether the API server is ready and `kube-node-lease` exists.

        The API server creates that namespace a little later.
        """
        return self._finds("/readyz") and self._finds(apis.NAMESPACES.path(None, "kube-node-lease"))

    def _finds(self, path: str) -> bool:
        return transports.answers(transports.connect(self._kubeconfig), path)

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

        self._running.append(components.Component(name, start))

    def _binary(self, name: str) -> pathlib.Path:
        return binaries.find(name, self._profile.binaries)


def _has_manager(profile: profiles.LocalProfile) -> bool:
    if profile.controller_manager == "auto":
        return binaries.is_there(MANAGER, profile.binaries)
    return profile.controller_manager


def _free_ports(*names: str) -> dict[str, int]:
    with contextlib.ExitStack() as kept:
        keepers = {name: kept.enter_context(loopback_ports.keeper()) for name in names}
        return {name: keeper.getsockname()[1] for name, keeper in keepers.items()}
