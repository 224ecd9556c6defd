"""Listening sockets on loopback: one with TLS for each client, a plain one for the admin API."""

import asyncio
import asyncio.sslproto
import base64
import os
import resource
import ssl
from collections.abc import Callable
from typing import Any

from harness import errors, tls_authorities, writing

HOST = "127.0.0.1"
BACKLOG = 1024
TLS_HANDSHAKE_TIMEOUT_S = 10.0
TLS_SHUTDOWN_TIMEOUT_S = 2.0
TLS_BUFFER_BYTES = 32 * 1024
"""Two records of TLS."""
FILES = 16_384
"""Number of open files to ask for: each watch takes two."""
_CERTIFICATE_DAYS = 365
_NAME = "flake-hunt fault proxy"
_Protocol = Callable[[], asyncio.Protocol]


class ServingCertificate:
    """The proxy's own certificate, signed by an authority that exists in memory only."""

    def __init__(self) -> None:
        authority = tls_authorities.Authority(f"{_NAME} CA", days=_CERTIFICATE_DAYS)
        self.authority = authority.certificate
        self._pair = authority.server(_NAME, [HOST, "localhost"])

    def context(self, on_rejection: Callable[[str], None]) -> ssl.SSLContext:
        """Return a server's TLS context, which offers HTTP/1.1 only: it has no ALPN.

        `on_rejection` gets the reason when a client ends a handshake.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with writing.private_file(self._pair.certificate + b"\n" + self._pair.key) as path:
            context.load_cert_chain(path)  # reads from files only
        context.sslobject_class = _noting(on_rejection)
        return context


def _noting(on_rejection: Callable[[str], None]) -> type[ssl.SSLObject]:
    """Return a class of TLS connections that reports the alerts of clients.

    asyncio drops a failed handshake without a word.
    """

    class Noting(ssl.SSLObject):
        def do_handshake(self) -> None:
            try:
                super().do_handshake()
            except ssl.SSLError as error:
                if "ALERT" in (error.reason or ""):
                    on_rejection(error.reason.replace("_", " ").lower())
                raise

    return Noting


async def listen(
    protocol: _Protocol, port: int, *, context: ssl.SSLContext | None = None
) -> asyncio.Server:
    """Listen on loopback. Raises UsageError if the port is taken."""
    try:
        return await asyncio.get_running_loop().create_server(
            protocol,
            HOST,
            port,
            ssl=context,
            ssl_handshake_timeout=TLS_HANDSHAKE_TIMEOUT_S if context else None,
            ssl_shutdown_timeout=TLS_SHUTDOWN_TIMEOUT_S if context else None,
            backlog=BACKLOG,
        )
    except OSError as error:
        raise errors.UsageError(
            f"expected to listen on {HOST}:{port}, but {os.strerror(error.errno or 0).lower()}: "
            "name another port, or 0 for a free one"
        ) from error


def port_of(server: asyncio.Server) -> int:
    """Return the port that a server listens on."""
    return int(server.sockets[0].getsockname()[1])


def save_memory() -> None:
    """Have asyncio keep small buffers for TLS, instead of 256 KiB for each connection.

    A watch has two connections. Elsewhere than in CPython's asyncio it has no effect.
    """
    asyncio.sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES


def allow_files() -> None:
    """Raise the limit on open files as far as this process may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def kubeconfig_of(
    url: str, token: str, *, authority: bytes = b"", namespace: str = ""
) -> dict[str, Any]:
    """Return a kubeconfig with one cluster and one user; `authority` is PEM."""
    cluster = {"server": url}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    context = {"cluster": "flake-hunt", "user": "flake-hunt"}
    if namespace:
        context["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "flake-hunt", "cluster": cluster}],
        "users": [{"name": "flake-hunt", "user": {"token": token}}],
        "contexts": [{"name": "flake-hunt", "context": context}],
        "current-context": "flake-hunt",
    }
