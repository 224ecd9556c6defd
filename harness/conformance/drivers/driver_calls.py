"""Calls of a driver through a socket, each with a deadline: they can be cancelled, and overlap."""

import os
import pathlib
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness import errors
from harness.cluster.kubelet_api import calls, messages, preparations, services

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # read at import: children only exec
from harness.cluster.kubelet_api import channels

try:
    import grpc
    from google.protobuf import message
except ImportError as error:
    raise errors.MissingExtraError("grpcio", "driver") from error


UNAVAILABLE, DEADLINE, CANCELLED = "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"
UNIMPLEMENTED = "UNIMPLEMENTED"
_OPTIONS = (
    ("grpc.max_receive_message_length", channels.MESSAGE_BYTES_MAX),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.default_authority", "localhost"),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # also the time that one attempt may take
    ("grpc.max_reconnect_backoff_ms", 200),
)
Claim = preparations.ClaimReference
Entry = preparations.Prepared | preparations.PreparationError | None
"""The devices of a claim, or its error; None: it is unprepared."""
Answer = Mapping[str, Entry]
"""uid -> entry."""


def is_refusal(error: calls.CallError) -> bool:
    return error.code not in (UNAVAILABLE, DEADLINE, CANCELLED, UNIMPLEMENTED)


class Pending:
    """A call that is under way."""

    def __init__(self, future: Any, decode: Callable[[bytes], Any]) -> None:
        self._future, self._decode = future, decode

    def cancel(self) -> None:
        """Cancel it, as a kubelet that ends."""
        self._future.cancel()

    @property
    def is_done(self) -> bool:
        """True if there is an answer or an error."""
        return bool(self._future.done())

    def answer(self) -> Any:
        """Wait for the answer. Raises CallError."""
        try:
            return self._decode(self._future.result())
        except grpc.FutureCancelledError:
            raise calls.CallError(CANCELLED, "by the caller") from None
        except grpc.RpcError as error:
            raise channels.failure(error) from None
        except message.DecodeError:
            raise calls.CallError("INTERNAL", "the answer is no message of the protocol") from None


class Connection:
    """A connection to one socket; a broken one connects again by itself."""

    def __init__(self, socket: pathlib.Path, *, deadline_s: float) -> None:
        self.socket, self._deadline_s = socket, deadline_s
        target = f"unix:{urllib.parse.quote(str(socket.absolute()))}"
        self._channel: Any = grpc.insecure_channel(target, options=_OPTIONS)

    def close(self) -> None:
        """Close it, and cancel the calls that are under way."""
        self._channel.close()

    def start(
        self,
        method: services.Method,
        request: message.Message,
        understand: Callable[[Any], Any] = lambda answer: answer,
        *,
        deadline_s: float | None = None,
    ) -> Pending:
        """Start a call; `understand` turns its answer into what `Pending.answer` returns."""
        stub = self._channel.unary_unary(method.path)
        left_s = self._deadline_s if deadline_s is None else deadline_s
        future = stub.future(request.SerializeToString(), timeout=left_s)
        return Pending(future, lambda content: understand(method.answer.FromString(content)))


class Driver:
    """The two calls of the DRA service in one version."""

    def __init__(self, connection: Connection, version: str) -> None:
        self._connection, self._service = connection, services.DRA[version]

    def start_prepare(self, claims: Sequence[Claim], *, deadline_s: float | None = None) -> Pending:
        method = self._service.prepare
        request = messages.request(method, claims)
        return self._connection.start(method, request, messages.prepared, deadline_s=deadline_s)

    def start_unprepare(self, claims: Sequence[Claim]) -> Pending:
        method = self._service.unprepare
        return self._connection.start(method, messages.request(method, claims), messages.unprepared)

    def prepare(self, claims: Sequence[Claim], *, deadline_s: float | None = None) -> Answer:
        """Call NodePrepareResources. Raises CallError."""
        found: Answer = self.start_prepare(claims, deadline_s=deadline_s).answer()
        return found

    def unprepare(self, claims: Sequence[Claim]) -> Answer:
        """Call NodeUnprepareResources. Raises CallError."""
        found: Answer = self.start_unprepare(claims).answer()
        return found
