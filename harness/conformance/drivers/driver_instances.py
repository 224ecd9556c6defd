"""A running instance of the driver: its process, its registration and its connection."""

import dataclasses
import os
import pathlib
import stat
from collections.abc import Iterable, Mapping, Sequence

from harness import clocks, errors, processes
from harness.cluster.kubelet_api import boot_ids, calls, services
from harness.cluster.kubelet_api.generated import registration_v1_pb2
from harness.conformance import results
from harness.conformance.drivers import driver_calls, driver_commands, driver_folders

STOP_S = 5.0
_LOG_CHARACTERS_MAX = 600


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """The answer of GetInfo, and the socket that gave it."""

    socket: pathlib.Path
    type: str
    name: str
    endpoint: str
    versions: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time limits in seconds."""

    call_s: float
    """A call of the driver or of the API server."""
    start_s: float
    """A start of the driver, until it has registered."""


class Instance:
    """One instance; `command` None: one that is started and ended by others."""

    def __init__(
        self,
        command: driver_commands.Command | None,
        folders: driver_folders.Folders,
        limits: Limits,
        *,
        driver_name: str = "",
    ) -> None:
        self._command, self._folders, self._limits = command, folders, limits
        self._driver_name = driver_name
        self._process: processes.Process | None = None
        self._connections: list[driver_calls.Connection] = []
        self._info: Info | None = None
        self.start_count = 0
        """Number of processes so far."""
        self.problem = ""
        """Why it has not registered; empty if it has."""

    @property
    def info(self) -> Info:
        """Its registration. Raises Undecided if it has none."""
        if self._info is None:
            raise results.Undecided(f"the driver has not registered: {self.problem}")
        return self._info

    @property
    def driver(self) -> driver_calls.Driver:
        """Its DRA service in the version that a kubelet chooses."""
        return self.in_version(self.version)

    @property
    def version(self) -> str:
        """The first version of its list that a kubelet knows; v1 if it lists none of them."""
        return next((name for name in self.info.versions if name in services.DRA), "v1.DRAPlugin")

    @property
    def exit_report(self) -> str | None:
        """How its process has ended, None while it runs."""
        code = None if self._process is None else self._process.poll()
        return None if code is None else processes.how_ended(code)

    def in_version(self, version: str) -> driver_calls.Driver:
        """Return its DRA service in one version."""
        named = pathlib.Path(self.info.endpoint or self.info.socket)
        endpoint = self._folders.socket or named
        return driver_calls.Driver(self._connection(endpoint), version)

    def start(self, *, known: Iterable[pathlib.Path] = ()) -> None:
        """Start the process and wait until it has registered.

        `known`: sockets of other instances. Raises Failed if it does not register.
        """
        self.start_process()
        self.register(known=known)

    def start_process(self) -> None:
        if self._command is None:
            return
        self.start_count += 1
        self._process = processes.start(
            "driver",
            boot_ids.seen_by(self._command.words, self._folders.boot_id),
            log=self._folders.log,
        )

    def register(self, *, known: Iterable[pathlib.Path] = ()) -> None:
        """Wait until it registers, and answer as a kubelet does.

        Raises Failed if it does not.
        """
        self.disconnect()
        self._info, self.problem = None, "it was not started"
        try:
            self._info = self._await_info(set(known))
        except results.Failed as failure:
            self.problem = str(failure)
            raise
        self.problem = ""
        self.notify(is_registered=True)

    def notify(self, *, is_registered: bool, error: str = "") -> str:
        """Tell it the result of its registration; return the error that it answers by."""
        request = registration_v1_pb2.RegistrationStatus(
            plugin_registered=is_registered, error=error
        )
        try:
            self._connection(self.info.socket).start(services.NOTIFY, request).answer()
        except calls.CallError as found:
            return str(found)
        return ""

    def ask(self) -> Info:
        """Call GetInfo again. Raises CallError."""
        return _asked(self.info.socket, self._limits.call_s)

    def _await_info(self, known: set[pathlib.Path]) -> Info:
        """Return the first answer of GetInfo by a socket of the registry. Raises Failed."""
        seen: dict[pathlib.Path, str] = {}
        found: list[Info] = []

        def is_there() -> bool:
            if self.exit_report is not None:
                raise results.Failed(f"the driver ended with {self.exit_report}{self.log_tail()}")
            found.extend(self._answers(known, seen))
            return bool(found)

        try:
            clocks.wait_until(is_there, timeout_s=self._limits.start_s, why="a registration")
        except errors.WaitTimeoutError:
            raise results.Failed(self._why_not(seen)) from None
        return found[0]

    def kill(self) -> None:
        """Kill it (SIGKILL) and all that it has started."""
        if self._process is not None:
            self._process.kill()
            self._process = None
        self.disconnect()

    def stop(self) -> str | None:
        """End it by SIGTERM; return a sentence if it had to be killed."""
        process, self._process = self._process, None
        self.disconnect()
        if process is None:
            return None
        code = process.stop(timeout_s=STOP_S)
        return f"it did not end within {STOP_S:g} s of SIGTERM" if code == -9 else None

    def disconnect(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def log_tail(self) -> str:
        """Return the end of what it has printed, as part of a sentence."""
        try:
            text = self._folders.log.read_text(errors="replace")
        except OSError:
            return ""
        last = " | ".join(text.splitlines()[-4:])[-_LOG_CHARACTERS_MAX:]
        return f"; it printed: {last}" if last else ""

    def _answers(self, known: set[pathlib.Path], seen: dict[pathlib.Path, str]) -> list[Info]:
        found = []
        for path in sockets(self._folders.registry):
            if path in known or path.name.startswith("."):
                continue
            try:
                found.append(_asked(path, self._limits.call_s))
            except calls.CallError as error:
                seen[path] = str(error)
        wanted = self._driver_name
        return [item for item in found if not wanted or item.name == wanted]

    def _why_not(self, seen: Mapping[pathlib.Path, str]) -> str:
        waited = f"within {self._limits.start_s:g} s"
        for path, error in seen.items():
            return f"{path.name} in the registry folder did not answer GetInfo {waited}: {error}"
        hidden = [path.name for path in sockets(self._folders.registry)]
        if hidden:
            return f"the registry folder has only {', '.join(hidden)}, which is not the driver's registration"
        return f"no socket appeared in the registry folder {waited}{self.log_tail()}"

    def _connection(self, socket: pathlib.Path) -> driver_calls.Connection:
        for connection in self._connections:
            if connection.socket == socket:
                return connection
        made = driver_calls.Connection(socket, deadline_s=self._limits.call_s)
        self._connections.append(made)
        return made


def sockets(folder: pathlib.Path) -> Sequence[pathlib.Path]:
    """Return the sockets below a folder; it may be one itself."""
    found = [folder] if _is_socket(folder) else []
    for parent, _, names in os.walk(folder):
        found += [path for name in names if _is_socket(path := pathlib.Path(parent, name))]
    return sorted(found)


def _is_socket(path: pathlib.Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _asked(socket: pathlib.Path, deadline_s: float) -> Info:
    connection = driver_calls.Connection(socket, deadline_s=deadline_s)
    try:
        answer = connection.start(services.GET_INFO, services.GET_INFO.request()).answer()
    finally:
        connection.close()
    return Info(
        socket=socket,
        type=answer.type,
        name=answer.name,
        endpoint=answer.endpoint,
        versions=tuple(answer.supported_versions),
    )
