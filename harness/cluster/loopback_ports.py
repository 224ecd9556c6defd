"""Ports of loopback: whether one is free, and keeping those of a server that is being restarted."""

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence

from harness import errors

ADDRESS = "127.0.0.1"


def require_free(port: int) -> None:
    """Raise UsageError if the port is taken."""
    try:
        socket.create_server((ADDRESS, port)).close()
    except OSError as error:
        raise errors.UsageError(
            f"expected port {port} of {ADDRESS} to be free ({os.strerror(error.errno or 0).lower()}): "
            "choose another one, or 0 for any free port"
        ) from error


@contextlib.contextmanager
def kept(ports: Sequence[int]) -> Iterator[None]:
    """Keep the ports from other programs for the `with` block, in which nothing listens on them.

    Connections to them are refused. A server that sets SO_REUSEADDR can listen on them in the
    block (Linux). Raises ClusterError if another program has taken one.
    """
    with contextlib.ExitStack() as sockets:
        for port in ports:
            keeper = sockets.enter_context(socket.socket())
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                keeper.bind((ADDRESS, port))
            except OSError as error:
                raise errors.ClusterError(
                    f"expected port {port} of {ADDRESS} to be free for the API server that is being "
                    f"restarted ({os.strerror(error.errno or 0).lower()}): another program took it, "
                    "so run again"
                ) from error
        yield
