"""The embedded provider: Flake Hunt's own API server as a process on loopback."""

import dataclasses
import importlib.metadata
import pathlib
import shutil
from collections.abc import Iterator

from harness import processes
from harness.client import kubeconfigs
from harness.cluster import components, control_plane_settings, interfaces, loopback_ports
from harness.scenario import profiles

READY_TIMEOUT_S = 30.0
KUBECONFIG, PLAIN_KUBECONFIG = "kubeconfig", "kubeconfig-plain"
_DATA = "apiserver-data"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """The command that starts a cluster's API server, now or again."""

    directory: pathlib.Path
    """The folder of kubeconfigs, log and data."""
    with_parent: bool
    """The server is killed when the process that starts it dies."""
    port: int = 0
    tls_port: int = 0
    on_disk: bool = False
    """Keep every commit on disk, so that the server can be restarted."""
    runtime_config: tuple[str, ...] = ()
    """API versions to serve in addition to the default ones."""
    feature_gates: tuple[str, ...] = ()
    """Feature gates to switch, as `NAME=true`."""
    watch_history: int = 100_000
    """Commits of each resource that watches can resume from."""

    roles_late_s: float = 0.0
    """Seconds after a restart in which everyone gets 403."""
    is_audited: bool = False
    """Log the writes of claims and pods."""

    @property
    def audit_log(self) -> pathlib.Path:
        return self.directory / control_plane_settings.AUDIT_LOG

    @property
    def plain_kubeconfig(self) -> pathlib.Path:
        return self.directory / PLAIN_KUBECONFIG

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.directory / KUBECONFIG

    @property
    def data(self) -> pathlib.Path:
        return self.directory / _DATA

    def start(self) -> processes.Process:
        """Start the server and wait until it is ready. Raises ProcessError or WaitTimeoutError."""
        ready = self.directory / "apiserver.ready"
        ready.unlink(missing_ok=True)
        return processes.start_ready(
            "apiserver",
            processes.command("part", "apiserver", *self._options()),
            log=self.directory / "apiserver.log",
            ready=ready,
            timeout_s=READY_TIMEOUT_S,
            with_parent=self.with_parent,
        )

    def _options(self) -> list[str]:
        written = ("--kubeconfig", self.kubeconfig)
        data = ("--data-dir", self.data) if self.on_disk else ()
        port, tls_port = self.ports()
        settings: dict[str, object] = {
            "plain_kubeconfig": self.plain_kubeconfig,
            "port": port,
            "tls_port": tls_port,
            "watch_history": self.watch_history,
            "feature_gates": ",".join(self.feature_gates),
            "serves_faults": True,
        }
        if self._is_restart:
            settings["limits.roles_late_s"] = self.roles_late_s
        if self.is_audited:
            settings["audit_log"] = self.audit_log
        options = [*written, *data, *processes.changed(**settings), *self._repeated()]
        return [str(word) for word in options]

    def _repeated(self) -> Iterator[str]:
        for item in self.runtime_config:
            yield from processes.changed(runtime_config=item)
        for name in control_plane_settings.AUDITED_RESOURCES if self.is_audited else ():
            yield from processes.changed(audit_writes_of=name)

    @property
    def _is_restart(self) -> bool:
        return self.data.exists()

    def ports(self) -> tuple[int, int]:
        """Return the ports to serve on; after the first start, those in use."""
        if not self._is_restart:
            return self.port, self.tls_port
        return kubeconfigs.load(self.plain_kubeconfig).port, kubeconfigs.load(self.kubeconfig).port

    def forget(self) -> None:
        """Remove the data, the audit log and the kubeconfigs, which contain tokens.

        The server's own log stays.
        """
        shutil.rmtree(self.data, ignore_errors=True)
        control_plane_settings.remove_audit(self.audit_log)
        for pattern in (f"{KUBECONFIG}*", f".{KUBECONFIG}*"):  # unfinished ones begin with a dot
            for path in self.directory.glob(pattern):
                path.unlink(missing_ok=True)


class EmbeddedCluster(interfaces.Cluster):
    """An API server process and its kubeconfigs."""

    def __init__(self, name: str, command: ServerCommand) -> None:
        """Start the server, and wait until it is ready."""
        self.name, self.kubeconfig = name, command.plain_kubeconfig  # without the cost of TLS
        self.versions = {"flake-hunt apiserver": importlib.metadata.version("flake-hunt")}
        self._command = command
        self.server = components.Component("the API server", command.start)

    @property
    def user_kubeconfig(self) -> pathlib.Path:
        return self._command.kubeconfig

    @property
    def pids(self) -> list[int]:
        return [self.server.pid]

    def exit_report(self) -> str | None:
        return self.server.exit_report()

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        """Restart the server on the same ports and data.

        Raises ClusterError if it does not start, or if its data are in memory.
        """
        if not self._command.on_disk:
            raise interfaces.unsupported_restart(self.name, "add --cluster storage=disk")
        return self.server.restart(kill=kill, down_s=down_s, ports=self._command.ports())

    def audit_position(self) -> int:
        return control_plane_settings.audit_position(self._command.audit_log)

    def save_audit_log(self, into: pathlib.Path, *, after: int) -> None:
        control_plane_settings.save_audit(self._command.audit_log, into, after=after)

    def down(self) -> None:
        self.server.stop()
        self._command.forget()


class Provider(interfaces.Provider):
    """Starts embedded clusters."""

    def __init__(self, profile: profiles.EmbeddedProfile) -> None:
        self._profile = profile

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
        return start(
            request.name,
            ServerCommand(
                directory=request.directory,
                with_parent=not request.stays,
                port=self._profile.port,
                tls_port=self._profile.tls_port,
                on_disk=self._profile.storage == "disk",
                runtime_config=tuple(self._profile.runtime_config),
                feature_gates=tuple(
                    f"{name}={str(is_on).lower()}"
                    for name, is_on in sorted(self._profile.feature_gates.items())
                ),
                watch_history=self._profile.watch_history,
                roles_late_s=self._profile.roles_late_s,
                is_audited=self._profile.audit_log,
            ),
        )

    def reap(self, request: interfaces.ClusterRequest) -> None:
        ServerCommand(directory=request.directory, with_parent=False).forget()


def up(name: str, directory: pathlib.Path) -> EmbeddedCluster:
    return start(name, ServerCommand(directory=directory, with_parent=True))


def start(name: str, command: ServerCommand) -> EmbeddedCluster:
    """Start the server without data of an earlier one, and wait until it is ready.

    A failed start leaves only the log.
    """
    shutil.rmtree(command.data, ignore_errors=True)
    control_plane_settings.remove_audit(command.audit_log)
    try:
        return EmbeddedCluster(name, command)
    except BaseException:
        command.forget()
        raise
