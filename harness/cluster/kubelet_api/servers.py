"""The server's side: serves methods on a unix socket."""

import contextlib
import os
import pathlib
import secrets
from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Any, Self

from google.protobuf import message

from harness import errors
from harness.cluster.kubelet_api import calls, services, socket_paths

try:
    import grpc
except ImportError as error:
    raise errors.MissingExtraError("grpcio", "driver") from error

THREADS_MAX = 100
"""Calls that are handled at once; threads are started when they are needed."""
END_S = 2.0
"""Seconds that calls have to end in when a server stops."""

Handler = Callable[[Any], message.Message]
"""Returns the answer to a request. A CallError fails the call with its code and message, any
other exception with UNKNOWN and its text."""


class Server:
    """Serves methods on one socket, from its construction until `stop`."""

    def __init__(self, path: pathlib.Path, handlers: Mapping[services.Method, Handler]) -> None:
        """Serve. A socket that an ended process has left is replaced.

        Raises UsageError if a process serves there, the path is too long, or the folder cannot be
        written.
        """
        socket_paths.require_free(path)
        self._path = path
        self._threads = futures.ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="call")
        self._server = grpc.server(self._threads, handlers=[_Handlers(handlers)])
        self._made = self._listen()
        self._server.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let the calls end, for some time, and remove the socket."""
        socket_paths.remove(self._path, self._made)  # no new client comes
        self._server.stop(END_S).wait()
        self._threads.shutdown(wait=False, cancel_futures=True)
        socket_paths.remove(self._path, self._made)

    def _listen(self) -> os.stat_result:
        """Listen, and return the socket.

        gRPC removes what it finds at its path at its end, also the socket of a successor: it gets
        a name that only it knows, and the socket is renamed. So it also appears when it listens.
        """
        hidden = f".{secrets.token_hex(8)}"
        try:
            with contextlib.ExitStack() as opened:
                folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
                opened.callback(os.close, folder)
                # the folder's number keeps any path short
                self._server.add_insecure_port(f"unix:/proc/self/fd/{folder}/{hidden}")
                os.rename(hidden, self._path.name, src_dir_fd=folder, dst_dir_fd=folder)
                return os.stat(self._path.name, dir_fd=folder, follow_symlinks=False)
        except (RuntimeError, OSError) as error:
            raise errors.UsageError(
                f"{self._path}: expected a place for a socket ({error}): name another folder"
            ) from error


class _Handlers(grpc.GenericRpcHandler):
    """Finds the handler of a method by its path."""

    def __init__(self, handlers: Mapping[services.Method, Handler]) -> None:
        self._handlers = {
            method.path: _answering(method, handler) for method, handler in handlers.items()
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._handlers.get(handler_call_details.method)


def _answering(method: services.Method, handler: Handler) -> Any:
    def answer(content: bytes, context: Any) -> bytes:
        try:
            return handler(services.decoded(method.request, content)).SerializeToString()
        except calls.CallError as error:
            context.abort(grpc.StatusCode[error.code], error.message)
            raise
        except Exception as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error) or type(error).__name__)
            raise

    return grpc.unary_unary_rpc_method_handler(answer)
