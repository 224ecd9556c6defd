"""Listening sockets: plain HTTP on loopback, and TLS.

kubectl does not send a token to http:// addresses, so it needs the TLS listener; the harness's own
processes use plain HTTP, which is cheaper. Both require the token. A server that is open to other
hosts is open by TLS only.
"""

import asyncio
import ipaddress
import os
import resource
from collections.abc import Callable

from harness import errors
from harness.apiserver.server import connections, identities, servers

BACKLOG = 1024
TLS_HANDSHAKE_TIMEOUT_S = 10.0
LOOPBACK = "127.0.0.1"


def check_host(host: str, *, is_open: bool) -> None:
    """Raise UsageError for an address that other hosts can reach, unless `is_open`."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise errors.UsageError(f"expected an IP address for host, got {host}") from error
    if not address.is_loopback and not is_open:
        raise errors.UsageError(
            f"expected a loopback address, got {host}: a single token protects the server; "
            "add --set is_open=true to accept other hosts"
        )


def allow_many_files() -> None:
    """Raise the limit on open files, and so on connections, as far as this process may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def listen(
    server: servers.Server,
    host: str,
    port: int,
    *,
    identity: identities.ServingCertificate | None = None,
) -> asyncio.Server:
    """Listen on an address, with TLS if there is an identity. Raises UsageError if that fails."""
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
    identity: identities.ServingCertificate | None = None,
) -> asyncio.Server:
    """Listen; with port 0 on the port of the last run if it is free, since kubeconfigs name it.

    `note` gets a line if it is not free. Raises UsageError.
    """
    if port or not last_port:
        return await listen(server, host, port, identity=identity)
    try:
        return await listen(server, host, last_port, identity=identity)
    except errors.UsageError:
        note(
            f"port {last_port} of the last run is taken: kubeconfigs that name it do not work any more"
        )
        return await listen(server, host, 0, identity=identity)


def port_of(server: asyncio.Server) -> int:
    """Return the port that the server listens on."""
    return int(server.sockets[0].getsockname()[1])


def address_of(server: asyncio.Server) -> str:
    """Return the host:port at which a client on this machine reaches the server."""
    host, port = server.sockets[0].getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else LOOPBACK
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
