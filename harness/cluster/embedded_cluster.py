"""The embedded provider: Flake Hunt's own API server as a process on loopback."""

import importlib.metadata
import pathlib
import shutil

from harness import processes
from harness.client import kubeconfigs
from harness.cluster import audit_logs, components, interfaces, loopback_ports
from harness.scenario import profiles

READY_TIMEOUT_S = 30.0
KUBECONFIG, PLAIN_KUBECONFIG = "kubeconfig", "kubeconfig-plain"
_DATA = "apiserver-data"
_PLAIN = profiles.EmbeddedProfile(
    schema_version=1, name="embedded", title="for tests", provider="embedded", audit_log=False
)


class EmbeddedCluster(interfaces.Cluster):
    """An API server process and its kubeconfigs."""

    def __init__(
        self, profile: profiles.EmbeddedProfile, request: interfaces.ClusterRequest
    ) -> None:
        """Start the server without data of an earlier one, and wait until it is ready.

        A failed start leaves only the log. Raises ProcessError or WaitTimeoutError.
        """
        self.name, self._profile, self._request = request.name, profile, request
        self._folder = request.directory
        self.kubeconfig = self._folder / PLAIN_KUBECONFIG  # without the cost of TLS
        self.versions = {"flake-hunt apiserver": importlib.metadata.version("flake-hunt")}
        self.audit_log = self._folder / audit_logs.NAME
        shutil.rmtree(self._folder / _DATA, ignore_errors=True)
        audit_logs.remove(self.audit_log)
        try:
            self.server = components.Component("the API server", self._start)
        except BaseException:
            forget(self._folder)
            raise

    @property
    def user_kubeconfig(self) -> pathlib.Path:
        return self._folder / KUBECONFIG

    @property
    def pids(self) -> list[int]:
        return [self.server.pid]

    def exit_report(self) -> str | None:
        return self.server.exit_report()

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        """Restart the server on the same ports and data.

        Raises ClusterError if it does not start, or if its data are in memory.
        """
        if self._profile.storage != "disk":
            raise interfaces.unsupported_restart(self.name, "add --cluster storage=disk")
        return self.server.restart(kill=kill, down_s=down_s, ports=self.ports())

    def down(self) -> None:
        self.server.stop()
        forget(self._folder)

    def _start(self) -> processes.Process:
        ready = self._folder / "apiserver.ready"
        ready.unlink(missing_ok=True)
        return processes.start_ready(
            "apiserver",
            processes.command("part", "apiserver", *self._options()),
            log=self._folder / "apiserver.log",
            ready=ready,
            timeout_s=READY_TIMEOUT_S,
            with_parent=not self._request.stays,
        )

    def _options(self) -> list[str]:
        profile, options = self._profile, ["--kubeconfig", str(self.user_kubeconfig)]
        if profile.storage == "disk":
            options += ["--data-dir", str(self._folder / _DATA)]
        port, tls_port = self.ports()
        gates = (f"{name}={str(on).lower()}" for name, on in sorted(profile.feature_gates.items()))
        settings: dict[str, object] = {
            "plain_kubeconfig": self.kubeconfig,
            "port": port,
            "tls_port": tls_port,
            "watch_history": profile.watch_history,
            "feature_gates": ",".join(gates),
            "serves_faults": True,
        }
        if self._is_restart:
            settings["limits.roles_late_s"] = profile.roles_late_s
        repeated = [("runtime_config", item) for item in profile.runtime_config]
        if profile.audit_log:
            settings["audit_log"] = self.audit_log
            audited = audit_logs.RESOURCES
            repeated += [("audit_writes_of", name) for name in audited]
        options += processes.changed(**settings)
        return options + [word for pair in repeated for word in processes.changed(**dict([pair]))]

    @property
    def _is_restart(self) -> bool:
        return (self._folder / _DATA).exists()

    def ports(self) -> tuple[int, int]:
        """Return the ports to serve on; after the first start, those in use."""
        if not self._is_restart:
            return self._profile.port, self._profile.tls_port
        return kubeconfigs.load(self.kubeconfig).port, kubeconfigs.load(self.user_kubeconfig).port


def forget(folder: pathlib.Path) -> None:
    """Remove a server's data, its audit log and its kubeconfigs, which contain tokens.

    The server's own log stays.
    """
    shutil.rmtree(folder / _DATA, ignore_errors=True)
    audit_logs.remove(folder / audit_logs.NAME)
    for pattern in (f"{KUBECONFIG}*", f".{KUBECONFIG}*"):  # unfinished ones begin with a dot
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


class Provider(interfaces.Provider[profiles.EmbeddedProfile]):
    """Starts embedded clusters."""

    @property
    def capabilities(self) -> interfaces.Capabilities:
        """An API server without controllers of its own.

        It supports protobuf too, but is faster with JSON.
        """
        return interfaces.Capabilities(
            protobuf=False,
            restarts_api_server=self._profile.storage == "disk",
            dense_revisions=True,
        )

    def check(self) -> None:
        """Check that the ports named in the profile are free; the rest comes with Flake Hunt."""
        for port in filter(None, (self._profile.port, self._profile.tls_port)):
            loopback_ports.require_free(port)

    def up(self, request: interfaces.ClusterRequest) -> EmbeddedCluster:
        return EmbeddedCluster(self._profile, request)

    def reap(self, request: interfaces.ClusterRequest) -> None:
        forget(request.directory)


def up(name: str, directory: pathlib.Path) -> EmbeddedCluster:
    return EmbeddedCluster(_PLAIN, interfaces.ClusterRequest(name=name, directory=directory))
