"""The embedded provider: Flake Hunt's own API server as a process on loopback."""

import dataclasses
import importlib.metadata
import pathlib
import shutil
import threading
from collections.abc import Iterator

from harness import errors, processes
from harness.client import kubeconfigs
from harness.cluster import control_plane_settings, interfaces, loopback_ports
from harness.scenario import profiles

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
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
        """The audit log, which is there if `is_audited` is set."""
        return self.directory / control_plane_settings.AUDIT_LOG

    @property
    def plain_kubeconfig(self) -> pathlib.Path:
        return self.directory / PLAIN_KUBECONFIG

    @property
    def kubeconfig(self) -> pathlib.Path:
        """The kubeconfig for TLS, which the server writes."""
        return self.directory / KUBECONFIG

    @property
    def data(self) -> pathlib.Path:
        """The folder of the server's commits, tokens and certificates."""
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
        settings: dict[str, object] = {
            "plain_kubeconfig": self.plain_kubeconfig,
            "port": self.port,
            "tls_port": self.tls_port,
            "watch_history": self.watch_history,
            "feature_gates": ",".join(self.feature_gates),
            "serves_faults": True,
        }
        if self.data.exists():  # a restart
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

    def on_ports_in_use(self) -> "ServerCommand":
        return dataclasses.replace(
            self,
            port=kubeconfigs.load(self.plain_kubeconfig).port,
            tls_port=kubeconfigs.load(self.kubeconfig).port,
        )

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

    def __init__(self, name: str, command: ServerCommand, process: processes.Process) -> None:
        self.name, self.kubeconfig = name, command.plain_kubeconfig  # without the cost of TLS
        self.versions = {"flake-hunt apiserver": importlib.metadata.version("flake-hunt")}
        self.process = process
        self._command = command
        self._lock = threading.Lock()
        self._is_restarting = False
        self._is_going_down = threading.Event()

    @property
    def user_kubeconfig(self) -> pathlib.Path:
        return self._command.kubeconfig

    @property
    def pids(self) -> list[int]:
        """The pid of the API server; during a restart that of the ended one."""
        return [self.process.pid]

    def exit_report(self) -> str | None:
        process = self.process
        report = process.exit_report()
        if self._is_restarting or process is not self.process:
            return None
        return report

    def restart_api_server(self, *, kill: bool, down_s: float) -> interfaces.End:
        """End the server, wait, and start it on the same ports and data; return when it ended.

        Raises ClusterError if it does not start, or if its data are in memory.
        """
        if not self._command.on_disk:
            raise interfaces.unsupported_restart(self.name, "add --cluster storage=disk")
        with self._lock:
            self._is_restarting = True
            try:
                return self._restart(kill=kill, down_s=down_s)
            finally:
                self._is_restarting = False

    def _restart(self, *, kill: bool, down_s: float) -> interfaces.End:
        again = self._command.on_ports_in_use()
        end = interfaces.End.of(lambda: self.process.end(kill=kill, timeout_s=STOP_TIMEOUT_S))
        with loopback_ports.kept((again.port, again.tls_port)):
            if self._is_going_down.wait(down_s):
                return end
            try:
                self.process = again.start()
            except (errors.ProcessError, errors.WaitTimeoutError) as error:
                raise errors.ClusterError(
                    f"expected the API server to start again on its data ({error})"
                ) from error
        return end

    def audit_position(self) -> int:
        return control_plane_settings.audit_position(self._command.audit_log)

    def save_audit_log(self, into: pathlib.Path, *, after: int) -> None:
        control_plane_settings.save_audit(self._command.audit_log, into, after=after)

    def down(self) -> None:
        """Stop the process and remove everything but the log; ends a restart that is under way."""
        self._is_going_down.set()
        with self._lock:
            self.process.stop(timeout_s=STOP_TIMEOUT_S)
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
    """Start a server that keeps its data in memory, and wait until it is ready."""
    return start(name, ServerCommand(directory=directory, with_parent=True))


def start(name: str, command: ServerCommand) -> EmbeddedCluster:
    """Start the server without data of an earlier one, and wait until it is ready.

    A failed start leaves only the log.
    """
    shutil.rmtree(command.data, ignore_errors=True)
    control_plane_settings.remove_audit(command.audit_log)
    try:
        return EmbeddedCluster(name, command, command.start())
    except BaseException:
        command.forget()
        raise
