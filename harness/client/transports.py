"""Transports: they send requests to an API server and return its responses.

`Transport` is the interface, and the one place where calls can be intercepted. `HttpTransport` is
HTTP/1.1 over sockets with one keep-alive connection per calling thread. It never retries: a request
that was sent without a complete response has an unknown outcome, and the error says so.
"""

import http.client
import itertools
import pathlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from harness import errors
from harness.client import exec_credentials, kubeconfigs

USER_AGENT = "flake-hunt"
CONNECT_TIMEOUT_S = 10.0
WATCH_SILENCE_MAX_S = 600.0
"""Time without data after which a watch's connection is considered dead.

Longer than the `timeoutSeconds` of any watch.
"""
_READ_BYTES = 256 * 1024
_UNAUTHORIZED = 401


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request."""

    method: str
    path: str
    """The path and the query."""
    body: bytes | None = None
    content_type: str = "application/json"
    timeout_s: float = 30.0


class Response(msgspec.Struct, frozen=True):
    """One complete HTTP response."""

    status: int
    body: bytes


class TransportError(errors.HarnessError):
    """There is no complete response. `sent` is False only if the request was certainly not sent."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class Watch(Protocol):
    """A streaming response: iterate over its lines; close it from any thread."""

    status: int

    def __iter__(self) -> Iterator[bytes]:
        """Yield one line per event until the server or `close` ends the watch.

        Raises TransportError if the connection breaks.
        """

    def close(self) -> None:
        """End the watch now."""


class Transport(Protocol):
    """Sends requests to one API server."""

    def send(self, request: Request) -> Response:
        """Return the response. Raises TransportError if there is none."""

    def watch(self, request: Request) -> Watch:
        """Open a watch. If its `status` is an error, its only line is the `Status` object."""

    def close(self) -> None:
        """Close the connection of the calling thread."""


def connect(kubeconfig: pathlib.Path, *, user_agent: str = USER_AGENT) -> Transport:
    """Return a transport to the server of a kubeconfig.

    Runs the exec plugin, if there is one, but does not connect yet.
    """
    return HttpTransport(kubeconfigs.load(kubeconfig), user_agent=user_agent)


class HttpTransport:
    """HTTP/1.1 over sockets."""

    def __init__(self, endpoint: kubeconfigs.Endpoint, *, user_agent: str = USER_AGENT) -> None:
        self._endpoint = endpoint
        self._local = threading.local()
        self._common = {"Accept": "application/json", "User-Agent": user_agent}
        self._root = endpoint.prefix
        if endpoint.proxy and not endpoint.tls:  # plain HTTP through a proxy needs the whole URL
            self._root = f"http://{_authority(endpoint)}{endpoint.prefix}"
            self._common |= endpoint.proxy.headers
        self._plugin = kubeconfigs.shared_plugin(endpoint.plugin) if endpoint.plugin else None
        self._identity, self._headers = exec_credentials.Credentials(), self._common
        self._use(self._plugin.current() if self._plugin else endpoint.identity)

    def send(self, request: Request) -> Response:
        """Return the response. Raises TransportError if there is none."""
        self._renew()
        connection = self._connection()
        connection.timeout = request.timeout_s
        if connection.sock is None:
            self._open(connection)
        connection.sock.settimeout(request.timeout_s)
        try:
            connection.request(
                request.method,
                self._root + request.path,
                body=request.body,
                headers=self._headers_for(request),
            )
            with connection.getresponse() as response:
                _require_length(response)
                self._note_status(response.status)
                return Response(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise TransportError(
                f"{request.method} {request.path}: sent, but got no complete response ({error!r})",
                sent=True,
            ) from error

    def watch(self, request: Request) -> Watch:
        """Open a watch on its own connection."""
        self._renew()
        connection = self._new_connection()
        self._open(connection)
        connection.sock.settimeout(WATCH_SILENCE_MAX_S)
        try:
            connection.request(
                request.method,
                self._root + request.path,
                headers=self._headers_for(request),
            )
            response = connection.getresponse()
            self._note_status(response.status)
            return _HttpWatch(connection, response)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            message = f"{request.method} {request.path}: got no response ({error!r})"
            raise TransportError(message, sent=True) from error

    def close(self) -> None:
        """Close the calling thread's connection; those of other threads end with their threads."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()

    def _headers_for(self, request: Request) -> Mapping[str, str]:
        headers = self._headers
        if request.body is not None:
            headers = {**headers, "Content-Type": request.content_type}
        if not self._endpoint.impersonation:
            return headers
        return _Repeating(headers, self._endpoint.impersonation)

    def _renew(self) -> None:
        if self._plugin is None:
            return
        try:
            identity = self._plugin.current()
        except errors.KubeconfigError as error:
            raise TransportError(str(error), sent=False) from error
        if identity != self._identity:
            self._use(identity)

    def _use(self, identity: exec_credentials.Credentials) -> None:
        self._identity, self._headers = identity, dict(self._common)
        if identity.token:
            self._headers["Authorization"] = f"Bearer {identity.token}"

    def _note_status(self, status: int) -> None:
        """Make the exec plugin run before the next request, after a 401; nothing is retried now."""
        if status == _UNAUTHORIZED and self._plugin is not None:
            self._plugin.invalidate(self._identity)

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.certificate != self._identity.certificate:
            if connection is not None:
                connection.close()
            self._local.certificate = self._identity.certificate
            connection = self._local.connection = self._new_connection()
        return connection

    def _new_connection(self) -> http.client.HTTPConnection:
        endpoint = self._endpoint
        context = kubeconfigs.shared_context(endpoint, self._identity)
        near = endpoint.proxy or endpoint
        if context is None:
            return http.client.HTTPConnection(near.host, near.port, timeout=CONNECT_TIMEOUT_S)
        kind = _named(endpoint.server_name) if endpoint.server_name else http.client.HTTPSConnection
        connection = kind(near.host, near.port, timeout=CONNECT_TIMEOUT_S, context=context)
        if endpoint.proxy:
            headers = {"Host": _authority(endpoint), **endpoint.proxy.headers}
            connection.set_tunnel(endpoint.host, endpoint.port, headers)
        return connection

    def _open(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise TransportError(
                f"expected an API server at {self._endpoint}, but: {error}", sent=False
            ) from error
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _named(server_name: str) -> type[http.client.HTTPSConnection]:
    class Named(http.client.HTTPSConnection):
        def connect(self) -> None:
            http.client.HTTPConnection.connect(self)
            self.sock = self._context.wrap_socket(self.sock, server_hostname=server_name)  # type: ignore[attr-defined]

    return Named


class _Repeating(dict[str, str]):
    """Headers with repeated names, in a form that `http.client` accepts."""

    def __init__(self, headers: Mapping[str, str], more: kubeconfigs.Headers) -> None:
        super().__init__(headers)
        self._more = more

    def items(self) -> Any:
        """Return all headers; those with repeated names come last, in UTF-8 like Go's."""
        return itertools.chain(
            super().items(), ((name, value.encode()) for name, value in self._more)
        )


def _authority(endpoint: kubeconfigs.Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


def _require_length(response: http.client.HTTPResponse) -> None:
    """Reject a response without a length: if it were cut off, nothing would show that."""
    if response.length is None and not response.chunked:
        raise http.client.IncompleteRead(b"")


class _HttpWatch:
    """A chunked response, read as it arrives."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection, self._response = connection, response
        self._socket: socket.socket | None = connection.sock
        self._closed = False
        self.status = response.status

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        try:
            while data := self._response.read1(_READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                yield from lines
            if rest.strip():
                yield rest
        except (OSError, ValueError, AttributeError, http.client.HTTPException) as error:
            if not self._closed:
                raise TransportError(f"the watch broke off ({error!r})", sent=True) from error
        finally:
            self._connection.close()

    def close(self) -> None:
        """End the watch now; a pending read returns."""
        self._closed = True
        if self._socket is None:
            return
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the connection has ended already
