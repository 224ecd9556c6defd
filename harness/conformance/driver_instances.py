"""A running instance of the driver: its process, its registration, and calls through its sockets.

Calls can be cancelled, and overlap.
"""

import dataclasses
import os
import pathlib
import stat
from collections.abc import Callable, Collection, Mapping, Sequence

from harness import clocks, errors, processes
from harness.cluster.kubelet_api import boot_ids, calls, messages, preparations, services
from harness.cluster.kubelet_api.generated import registration_v1_pb2
from harness.conformance import driver_folders, options, results

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # read at import: children only exec
from harness.cluster.kubelet_api import channels

DEADLINE, UNIMPLEMENTED = "DEADLINE_EXCEEDED", "UNIMPLEMENTED"
_NO_REFUSAL = ("UNAVAILABLE", DEADLINE, "CANCELLED", UNIMPLEMENTED)
Claim = preparations.ClaimReference
Entry = preparations.Prepared | preparations.PreparationError | None
"""The devices of a claim, or its error; None: it is unprepared."""
Answer = Mapping[str, Entry]
"""uid -> entry."""
Pending = channels.Pending
"""A call whose answer is an Answer."""


def is_refusal(error: calls.CallError) -> bool:
    return error.code not in _NO_REFUSAL


class Driver:
    """The two calls of the DRA service in one version."""

    def __init__(self, channel: channels.Channel, version: str, deadline_s: float) -> None:
        self._channel, self._service = channel, services.DRA[version]
        self._deadline_s = deadline_s

    def start_prepare(self, claims: Sequence[Claim], *, deadline_s: float | None = None) -> Pending:
        return self._start(self._service.prepare, claims, messages.prepared, deadline_s)

    def start_unprepare(self, claims: Sequence[Claim]) -> Pending:
        return self._start(self._service.unprepare, claims, messages.unprepared, None)

    def _start(
        self,
        method: services.Method,
        claims: Sequence[Claim],
        read: Callable[[object], Answer],
        deadline_s: float | None,
    ) -> Pending:
        timeout_s = self._deadline_s if deadline_s is None else deadline_s
        request = messages.request(method, claims)
        return self._channel.start(method, request, read, timeout_s=timeout_s)


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


class Instance:
    """One instance of the driver."""

    def __init__(
        self,
        command: Sequence[str],
        folders: driver_folders.Folders,
        chosen: options.Options,
    ) -> None:
        """`command` without words: others start and end it."""
        self._command, self._folders, self._options = command, folders, chosen
        self._process: processes.Process | None = None
        self._channels: dict[pathlib.Path, channels.Channel] = {}
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
    def driver(self) -> Driver:
        """Its DRA service, in the first version that a kubelet knows; v1 if it lists none."""
        known = (name for name in self.info.versions if name in services.DRA)
        return self.in_version(next(known, "v1.DRAPlugin"))

    @property
    def exit_report(self) -> str:
        """How its process has ended, with the end of what it has printed; empty while it runs."""
        code = None if self._process is None else self._process.poll()
        return "" if code is None else f"{processes.how_ended(code)}{self._log_tail()}"

    def in_version(self, version: str) -> Driver:
        named = pathlib.Path(self.info.endpoint or self.info.socket)
        channel = self._channel(self._folders.socket or named)
        return Driver(channel, version, self._options.deadline_s)

    def start(self, *, known: Collection[pathlib.Path] = ()) -> None:
        """Start the process and wait until it has registered.

        `known`: sockets of other instances. Raises Failed if it does not register.
        """
        if self._command:
            self.start_count += 1
            words = boot_ids.seen_by(self._command, self._folders.boot_id)
            self._process = processes.start("driver", words, log=self._folders.log)
        self.register(known=known)

    def register(self, *, known: Collection[pathlib.Path] = ()) -> None:
        """Wait until it registers, and answer as a kubelet does. Raises Failed if it does not."""
        self._disconnect()
        self._info, self.problem = None, "it was not started"
        try:
            self._info = self._await_info(known)
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
        channel = self._channel(self.info.socket)
        try:
            channel.call(services.NOTIFY, request, timeout_s=self._options.deadline_s)
        except calls.CallError as found:
            return str(found)
        return ""

    def ask(self, socket: pathlib.Path | None = None) -> Info:
        """Call GetInfo, over a connection of its own. Raises CallError."""
        asked = socket or self.info.socket
        with channels.Channel(asked, options=channels.SOON) as channel:
            answer = channel.call(
                services.GET_INFO, services.GET_INFO.request(), timeout_s=self._options.deadline_s
            )
        return Info(
            socket=asked,
            type=answer.type,
            name=answer.name,
            endpoint=answer.endpoint,
            versions=tuple(answer.supported_versions),
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
        self._disconnect()

    def stop(self) -> str:
        """End it by SIGTERM; return a sentence if it had to be killed."""
        process, self._process = self._process, None
        self._disconnect()
        is_killed = process is not None and process.stop(timeout_s=STOP_S) == -9
        return f"it did not end within {STOP_S:g} s of SIGTERM" if is_killed else ""

    def _disconnect(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def _channel(self, socket: pathlib.Path) -> channels.Channel:
        try:
            if socket not in self._channels:
                self._channels[socket] = channels.Channel(socket, options=channels.SOON)
        except errors.UsageError as error:
            raise results.Failed(str(error)) from None
        return self._channels[socket]

    def _log_tail(self) -> str:
        try:
            text = self._folders.log.read_text(errors="replace")
        except OSError:
            return ""
        last = " | ".join(text.splitlines()[-4:])[-_LOG_CHARACTERS_MAX:]
        return f"; it printed: {last}" if last else ""

    def _await_info(self, known: Collection[pathlib.Path]) -> Info:
        """Return the first answer of GetInfo by a socket of the registry. Raises Failed."""
        refused: dict[pathlib.Path, str] = {}
        found: list[Info] = []

        def is_there() -> bool:
            if report := self.exit_report:
                raise results.Failed(f"the driver ended with {report}")
            for path in sockets(self._folders.registry):
                if path in known or path.name.startswith("."):
                    continue
                try:
                    found.append(self.ask(path))
                except calls.CallError as error:
                    refused[path] = str(error)
            found[:] = [one for one in found if self._options.driver_name in ("", one.name)]
            return bool(found)

        try:
            clocks.wait_until(is_there, timeout_s=self._options.start_s, why="a registration")
        except errors.WaitTimeoutError:
            raise results.Failed(self._why_not(refused)) from None
        return found[0]

    def _why_not(self, refused: Mapping[pathlib.Path, str]) -> str:
        waited = f"within {self._options.start_s:g} s"
        for path, error in refused.items():
            return f"{path.name} in the registry folder did not answer GetInfo {waited}: {error}"
        if hidden := [path.name for path in sockets(self._folders.registry)]:
            return f"the registry folder has only {', '.join(hidden)}, which is not the driver's registration"
        return f"no socket appeared in the registry folder {waited}{self._log_tail()}"


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
