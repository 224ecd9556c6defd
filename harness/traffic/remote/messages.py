"""The messages between the master and its remote workers, on the channel beside Locust's own.

Each is the data of a Locust message whose type is the tag. `Chunk` is also the worker's sign of
life: without new bytes it comes once in PING_S, and `Received` answers it.
"""

from typing import Any, TypeVar

import msgspec

from harness import errors

PING_S = 1.0
"""Longest time between two messages of a worker, in seconds."""


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-hello"):
    """A worker introduces itself, again and again until it is answered."""

    version: str
    """Version of Flake Hunt, and that of Locust."""
    host: str
    boot_id: str
    pid: int


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-welcome"):
    """The master accepts a worker."""

    index: int
    plan: bytes
    """The content of plan.json."""
    locustfile: bytes = b""
    """The content of the scenario's locustfile; empty: it has none, or names a plug-in."""


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-refused"):
    """The master sends a worker away."""

    reason: str


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-tick"):
    """A worker asks for the master's time."""

    sent_ns: int


class Tock(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-tock"):
    """The master's times of a Tick and its answer."""

    sent_ns: int
    """The same as in the Tick."""
    received_ns: int
    answered_ns: int


class Joining(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-joining"):
    """A worker is about to make its first call; without it, the run is not whole any more."""

    offset_ns: int
    uncertainty_ns: int


class Joined(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-joined"):
    """The master has noted host and clock of a worker."""


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-ready"):
    """A worker is about to connect Locust's runner."""

    runner: str
    """The name of Locust's runner."""


class Admitted(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-admitted"):
    """The master expects Locust's runner."""


class Chunk(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-chunk"):
    """A part of a worker's journal."""

    offset: int
    data: bytes


class Received(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-received"):
    """How much of the journal the master has written, and what the worker has to do."""

    size: int
    is_enough: bool
    """Users begin nothing new after the scenario's minimum duration."""
    is_stopping: bool
    """Users begin nothing new at all."""
    is_ended: bool
    """The worker may go."""


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-done"):
    """All users are done and the journal is closed."""

    size: int
    """Bytes of the whole journal."""
    offset_ns: int
    uncertainty_ns: int


class Left(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-left"):
    """A worker goes before its work is done."""

    reason: str


class UserFailed(msgspec.Struct, frozen=True, kw_only=True, tag="flake-hunt-user-failed"):
    """A user of a plug-in has failed."""

    reason: str


TO_MASTER = (Hello, Tick, Joining, Ready, Chunk, Done, Left, UserFailed)
TO_WORKER = (Welcome, Refused, Tock, Joined, Admitted, Received)
AnyMessage = TypeVar("AnyMessage", bound=msgspec.Struct)


def kind(message: Any) -> str:
    """Return the type of the Locust message, for a message or its class."""
    return str(message.__struct_config__.tag)


def encode(message: msgspec.Struct) -> Any:
    """Return the data of the Locust message."""
    return msgspec.to_builtins(message, builtin_types=(bytes,))


def decode(data: Any, expected: type[AnyMessage]) -> AnyMessage:
    """Return the message in the data of a Locust message.

    Raises ProcessError if it is none: anything can send to the port.
    """
    try:
        return msgspec.convert(data, expected, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise errors.ProcessError(f"expected a message {kind(expected)} ({error})") from error
