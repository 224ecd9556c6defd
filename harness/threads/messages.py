"""Messages between a run and the tracer of a program: one JSON document a line."""

import pathlib
from collections.abc import Iterator

import msgspec

SOCKET_SUFFIX = ".threads"
"""Of the tracer's socket, beside the log of its program."""

HOLD_MAX_S = 8.0
"""A held thread goes on by itself after this time: before client-go gives up a lease, by default
after 10 s, so that no double allocation is the effect of a lease that was lost under a hold."""


class Watch(msgspec.Struct, frozen=True, kw_only=True, tag="watch"):
    """Look at a place from now on."""

    name: str
    place: str
    holds: bool
    """The thread of that visit is held there."""
    visit: int = 1
    """Which visit from now on, counted from 1."""
    hold_max_s: float = HOLD_MAX_S
    """A thread goes on by itself after this time: the program may wait for it."""


class Release(msgspec.Struct, frozen=True, kw_only=True, tag="release"):
    """Let the thread that a watch holds go on, or end the watch."""

    name: str


class Try(msgspec.Struct, frozen=True, kw_only=True, tag="try"):
    """From now on hold threads as a search has chosen, and count visits from 1."""

    name: str
    functions: list[str] | None = []
    """Those whose beginnings and returns are places from now on, beside those before; None: those
    of interest, see `GoFunctions.of_interest`."""
    seed: int = 0
    probability: float = 0.0
    """That a visit is held."""
    hold_s: list[float] = []
    """Times to draw from."""
    busy_visits: int = 2000
    """Visits of a function after which it is left: it runs all the time."""
    rest_s: float = 0.0
    """Time after which functions that were left are places again; 0: never."""
    chosen: list[tuple[str, int]] = []
    """Places and numbers of their visits in this try that are held, whatever the probability."""
    quiet_s: float = 0.08
    """A chosen hold ends when nothing has stopped for this time, or"""
    quiet_max_s: float = 0.6
    """after this time."""


Command = Watch | Release | Try


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """Something has happened in the program."""

    name: str
    """Name of the watch or try; empty: it is about the tracer itself."""
    kind: str
    """watched, passed, held, released, expired, begun, ended, refused."""
    ts_ns: int
    place: str = ""
    function: str = ""
    caller: str = ""
    goroutine: int = 0
    """Number of the goroutine, in the order in which they came."""
    visit: int = 0
    stack: list[str] = []
    """Functions that the thread is in, the newest first, when it is held."""
    text: str = ""
    """Why a command was refused."""
    counts: dict[str, int] = {}
    """Place -> visits: in a try that ended, or by others during a hold that ended."""
    sharing: dict[str, int] = {}
    """Place -> goroutines that came to functions of the same type or package in that try."""


_commands: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)
_happened = msgspec.json.Decoder(Happened)


class Lines:
    """Whole lines of what arrives in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def of(self, data: bytes) -> Iterator[bytes]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        yield from filter(None, lines)


def command(line: bytes) -> Command:
    return _commands.decode(line)


def happened(line: bytes) -> Happened:
    return _happened.decode(line)


def encoded(message: Command | Happened) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def socket_of(folder: pathlib.Path, process: str) -> pathlib.Path:
    return folder / f"{process}{SOCKET_SUFFIX}"
