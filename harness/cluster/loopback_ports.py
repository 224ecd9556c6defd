"""Ports of loopback: whether one is free, and keeping those of a server that is about to start."""

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence

from harness import errors

ADDRESS = "127.0.0.1"


def require_free(port: int) -> None:
    try:
        socket.create_server((ADDRESS, port)).close()
    except OSError as error:
        raise errors.UsageError(
            f"expected port {port} of {ADDRESS} to be free ({os.strerror(error.errno or 0).lower()}): "
            "choose another one, or 0 for any free port"
        ) from error


def keeper(port: int = 0) -> socket.socket:
    """Return a socket that keeps a port from other programs until it is closed; 0: a free port.

    Connections to the port are refused. A server that sets SO_REUSEADDR can listen on it meanwhile
    (Linux). Raises OSError if the port is taken.
    """
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
    except OSError:
        made.close()
        raise
    return made


@contextlib.contextmanager
def kept(ports: Sequence[int]) -> Iterator[None]:
    """Keep the ports for the `with` block, in which nothing listens on them; see `keeper`.

    Raises ClusterError if another program has taken one.
    """
    with contextlib.ExitStack() as sockets:
        for port in ports:
            try:
                sockets.enter_context(keeper(port))
            except OSError as error:
                why = os.strerror(error.errno or 0).lower()
                raise errors.ClusterError(
                    f"expected port {port} of {ADDRESS} to be free for the API server that is being "
                    f"restarted ({why}): another program took it, so run again"
                ) from error
        yield
