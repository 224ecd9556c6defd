"""The client's side: calls the methods of a service on a unix socket."""

import pathlib
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any, Self

from harness import errors
from harness.cluster.kubelet_api import calls, services, socket_paths

try:
    import grpc
    from google.protobuf import message
except ImportError as error:
    raise errors.MissingExtraError("grpcio", "driver") from error

MESSAGE_BYTES_MAX = 16 << 20
"""gRPC's own limit, also of the kubelet, is 4 MiB."""
SOON = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # also the time that one attempt may take
    ("grpc.max_reconnect_backoff_ms", 200),
)
"""Options with which a broken connection is made again at once."""


class Pending:
    """A call that is under way."""

    def __init__(self, method: services.Method, future: Any, read: Callable[[Any], Any]) -> None:
        self._method, self._future, self._read = method, future, read

    def cancel(self) -> None:
        self._future.cancel()

    @property
    def is_done(self) -> bool:
        return bool(self._future.done())

    def answer(self) -> Any:
        """Wait for the answer. Raises CallError, as `Channel.call` does."""
        try:
            return self._read(services.decoded(self._method.answer, self._future.result()))
        except grpc.FutureCancelledError:
            raise calls.CallError("CANCELLED", "by the caller") from None
        except grpc.RpcError as error:
            raise failure(error) from None


class Channel:
    """A connection to one socket. Thread-safe. It connects with the first call."""

    def __init__(
        self,
        path: pathlib.Path,
        *,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
        options: Iterable[tuple[str, int]] = (),
    ) -> None:
        """`message_bytes_max`: a longer answer fails with RESOURCE_EXHAUSTED.

        Raises UsageError for a path that is too long for a socket.
        """
        socket_paths.require_short(path)
        self._channel: Any = grpc.insecure_channel(
            f"unix:{urllib.parse.quote(str(path.absolute()))}",
            options=[
                ("grpc.max_receive_message_length", message_bytes_max),
                ("grpc.enable_retries", 0),
                ("grpc.use_local_subchannel_pool", 1),  # no connection of a channel before
                ("grpc.default_authority", "localhost"),
                *options,
            ],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: services.Method, request: message.Message, *, timeout_s: float) -> Any:
        """Return the answer of a method, a message of its type.

        Raises CallError if the call fails or its time is over, if no process serves there, and
        for an answer that is no such message.
        """
        asked = self._channel.unary_unary(method.path)
        try:
            content = asked(request.SerializeToString(), timeout=timeout_s)
        except grpc.RpcError as error:
            raise failure(error) from None
        return services.decoded(method.answer, content)

    def start(
        self,
        method: services.Method,
        request: message.Message,
        read: Callable[[Any], Any],
        *,
        timeout_s: float,
    ) -> Pending:
        """Start a call: it can be cancelled, and overlap with others.

        `read` turns its answer into what `Pending.answer` returns.
        """
        asked = self._channel.unary_unary(method.path)
        return Pending(method, asked.future(request.SerializeToString(), timeout=timeout_s), read)

    def close(self) -> None:
        self._channel.close()


def failure(error: Any) -> calls.CallError:
    return calls.CallError(error.code().name, error.details() or "")
