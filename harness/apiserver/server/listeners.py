"""The addresses that a server is reached at: plain HTTP on loopback, and TLS.

kubectl drops a token on http:// addresses, so there is a TLS listener for it; the harness's own processes use the plain one,
which costs less. Both want the token. A server that is open to others is open by TLS only.
"""

import asyncio
import ipaddress
import os
import resource
from collections.abc import Callable

from harness import errors
from harness.apiserver.server import connections, servers, serving_certificates

BACKLOG = 1024
TLS_HANDSHAKE_TIMEOUT_S = 10.0
LOOPBACK = "127.0.0.1"
_FILES_SPARE = 64
"""Descriptors for everything but connections."""


def check_host(host: str, *, is_open: bool) -> None:
    """UsageError for an address that others can reach, unless that is wanted."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise errors.UsageError(f"expected an IP address for --host, got {host}") from error
    if not address.is_loopback and not is_open:
        raise errors.UsageError(
            f"expected a loopback address, got {host}: the server guards its objects with one token only; "
            "add --i-know-it-is-open to let others reach it"
        )


def allow_connections(wanted: int, *, note: Callable[[str], None]) -> int:
    """Have the process allowed enough descriptors; how many connections they are enough for."""
    files = wanted + _FILES_SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < files:
        note(
            f"{hard} open files are allowed, which is enough for {hard - _FILES_SPARE} connections, not {wanted}"
        )
        files = hard
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files - _FILES_SPARE


async def listen(
    server: servers.Server,
    host: str,
    port: int,
    *,
    identity: serving_certificates.ServingCertificate | None = None,
) -> asyncio.Server:
    """Listen; UsageError when that cannot be."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(
            lambda: connections.Connection(server),
            host,
            port,
            ssl=identity.context() if identity else None,
            ssl_handshake_timeout=TLS_HANDSHAKE_TIMEOUT_S if identity else None,
            backlog=BACKLOG,
        )
    except OSError as error:
        raise errors.UsageError(
            f"expected to listen on {host}:{port}, but {os.strerror(error.errno or 0).lower()}: "
            "name another port, or 0 for a free one"
        ) from error


async def listen_again(
    server: servers.Server,
    host: str,
    port: int,
    *,
    last_port: int,
    note: Callable[[str], None],
    identity: serving_certificates.ServingCertificate | None = None,
) -> asyncio.Server:
    """Listen; when any port will do, on that of last time if it is free, since kubeconfigs name it."""
    if port or not last_port:
        return await listen(server, host, port, identity=identity)
    try:
        return await listen(server, host, last_port, identity=identity)
    except errors.UsageError:
        note(f"port {last_port}, the one of last time, is taken: kubeconfigs with it do not work")
        return await listen(server, host, 0, identity=identity)


def port_of(server: asyncio.Server) -> int:
    """The port that was taken."""
    return int(server.sockets[0].getsockname()[1])


def address_of(server: asyncio.Server) -> str:
    """Where a client of this machine reaches it."""
    host, port = server.sockets[0].getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else LOOPBACK
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
