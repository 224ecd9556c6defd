"""Common parts of the processes that serve HTTP: sockets, TLS, signals, the ready file."""

import asyncio
import gc
import os
import pathlib
import signal
import socket
import ssl
import struct
from collections.abc import Callable

from harness import errors, processes, tls_authorities, writing

BACKLOG = 1024
_NO_LINGER = struct.pack("ii", 1, 0)
"""The SO_LINGER with which the kernel resets a connection (RST) instead of closing it (FIN)."""
TLS_HANDSHAKE_TIMEOUT_S = 10.0
TLS_SHUTDOWN_TIMEOUT_S = 2.0


async def listen(
    protocol: Callable[[], asyncio.Protocol],
    host: str,
    port: int,
    *,
    context: ssl.SSLContext | None = None,
) -> asyncio.Server:
    """Listen on an address, with TLS if there is a context. Raises UsageError if that fails."""
    try:
        return await asyncio.get_running_loop().create_server(
            protocol,
            host,
            port,
            ssl=context,
            ssl_handshake_timeout=TLS_HANDSHAKE_TIMEOUT_S if context else None,
            ssl_shutdown_timeout=TLS_SHUTDOWN_TIMEOUT_S if context else None,
            backlog=BACKLOG,
        )
    except OSError as error:
        raise errors.UsageError(
            f"expected to listen on {host}:{port}, but {os.strerror(error.errno or 0).lower()}: "
            "name another port, or 0 for a free one"
        ) from error


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


def tls_context(pair: tls_authorities.Pair) -> ssl.SSLContext:
    """Return the TLS context of a server; it offers HTTP/1.1 only, because it has no ALPN."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with writing.private_file(pair.certificate + b"\n" + pair.key) as path:
        context.load_cert_chain(path)  # reads from files only
    return context


def until_signal() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set, instead of ending the process."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


def begin(ready_file: pathlib.Path | None, *, garbage_threshold: int) -> None:
    """Say that the server is ready, once Python's garbage collector is set to run rarely.

    Only connections form cycles. Raises StorageError or UnwritableError.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(garbage_threshold, 10, 10)
    if ready_file is not None:
        with writing.explained(ready_file):
            ready_file.parent.mkdir(parents=True, exist_ok=True)
            processes.touch_ready(ready_file)


def reset(transport: asyncio.BaseTransport) -> None:
    """Reset a connection; what its kernel has not sent yet is lost."""
    connection: socket.socket | None = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()
