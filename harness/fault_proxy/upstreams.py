"""The API server behind the proxy, reached with the credentials of one client.

Requests are never repeated: aiohttp would send a PUT or a DELETE again after a lost connection, and
a client that was answered would not know that its request was carried out twice.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import aiohttp
import yarl

from harness import errors
from harness.client import exec_credentials, kubeconfigs, transports
from harness.fault_proxy import http_headers, settings

CONNECT_TIMEOUT_S = 10.0
HEADER_BYTES_MAX = 256 * 1024
"""Maximum size of one header; Go's servers accept a megabyte of all headers."""
HEADERS_MAX = 1000
_READ_BYTES = 256 * 1024
_NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp adds by default."""
_UNAUTHORIZED = 401
_IMPERSONATE = "Impersonate-User"


class NoResponseError(Exception):
    """The API server gave no response: it is not reachable, or the connection broke."""


class WholeAnswer(NamedTuple):
    """A response of the API server with its whole body."""

    status: int
    reason: str
    headers: http_headers.Headers
    """Headers for the client."""
    body: bytes


class Upstream:
    """The API server of one client."""

    def __init__(self, client: settings.Client, session: aiohttp.ClientSession) -> None:
        """Raises KubeconfigError if the client's kubeconfig is unusable."""
        self._session = session
        self._kubeconfig = client.kubeconfig
        endpoint = self.endpoint = kubeconfigs.load(client.kubeconfig)
        self._plugin = exec_credentials.Plugin(endpoint.plugin) if endpoint.plugin else None
        self._given = endpoint.identity
        scheme = "https" if endpoint.tls else "http"
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        self._root = f"{scheme}://{host}:{endpoint.port}{endpoint.prefix}"
        self._identity: exec_credentials.Credentials | None = None
        self._context: ssl.SSLContext | bool = True

    async def send(
        self, method: str, target: str, headers: http_headers.Headers, body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Send a request and return its response, whose body has not been read yet.

        `target` is path and query. `headers` gets the credentials. Raises NoResponseError.
        """
        try:
            identity = self._given
            if self._plugin is not None:  # it may run a program, for up to a minute
                identity = await asyncio.to_thread(self._plugin.current)
            self._use(identity)
            self._authorize(headers, identity)
            response = await self._session.request(
                method,
                yarl.URL(self._root + target, encoded=True),
                headers=headers,
                data=body,
                ssl=self._context,
                server_hostname=self.endpoint.server_name or None,
                proxy=str(self.endpoint.proxy) if self.endpoint.proxy else None,
                proxy_headers=self.endpoint.proxy.headers if self.endpoint.proxy else None,
                allow_redirects=False,
                skip_auto_headers=_NOT_ADDED,
            )
        except (aiohttp.ClientError, OSError, TimeoutError, errors.KubeconfigError) as error:
            raise NoResponseError(f"{self.endpoint}: {_reason(error)}") from error
        if response.status == _UNAUTHORIZED:
            self._replace(identity)
        return response

    def _replace(self, rejected: exec_credentials.Credentials) -> None:
        """Use other credentials from now on: the plugin's next ones, or those of the token file."""
        if self._plugin is not None:
            self._plugin.invalidate(rejected)
            return
        with contextlib.suppress(errors.KubeconfigError):  # it may be written just now
            self._given = kubeconfigs.load(self._kubeconfig).identity

    def _use(self, identity: exec_credentials.Credentials) -> None:
        """Prepare a TLS context for credentials; it is kept as long as they stay the same."""
        if identity == self._identity:
            return
        if self._identity is None or identity.certificate != self._identity.certificate:
            self._context = self.endpoint.context(identity) or True
        self._identity = identity

    def _authorize(
        self, headers: http_headers.Headers, identity: exec_credentials.Credentials
    ) -> None:
        """Add the credentials, and whom the kubeconfig impersonates unless the client does so."""
        if identity.token:
            headers["Authorization"] = f"Bearer {identity.token}"
        if _IMPERSONATE not in headers:
            headers.extend(self.endpoint.impersonation)


async def whole(response: aiohttp.ClientResponse) -> WholeAnswer:
    """Return a response with its body. Raises NoResponseError if it breaks off."""
    try:
        body = await response.read()
    except (aiohttp.ClientError, OSError) as error:
        raise NoResponseError(_reason(error)) from error
    finally:
        response.release()
    headers = http_headers.of_response(response.headers)
    return WholeAnswer(response.status, response.reason or "", headers, body)


def open_session() -> aiohttp.ClientSession:
    """Return a session for all upstreams. Must be called while the event loop runs."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
        auto_decompress=False,
        read_bufsize=_READ_BYTES,
        max_line_size=HEADER_BYTES_MAX,
        max_field_size=HEADER_BYTES_MAX,
        max_headers=HEADERS_MAX,
        middlewares=(_once,),
    )


def require_reachable(client: settings.Client) -> None:
    """Check that an API server answers at the address of the client's kubeconfig, and who it is.

    Raises ClusterError if it does not, if its certificate is unknown, or if it rejects the
    client's credentials.
    """
    transport = transports.connect(client.kubeconfig)
    try:
        response = transport.send(transports.Request(method="GET", path="/version"))
    except transports.TransportError as error:
        raise errors.ClusterError(f"{client.kubeconfig} of {client.name}: {error}") from error
    finally:
        transport.close()
    if response.status == _UNAUTHORIZED:
        raise errors.ClusterError(
            f"{client.kubeconfig} of {client.name}: expected credentials that the API server at "
            f"{kubeconfigs.load(client.kubeconfig)} accepts, but it answered 401: renew them"
        )


class _LostError(aiohttp.ClientError):
    """The connection broke; unlike aiohttp's own error, it does not lead to a repetition."""


async def _once(
    request: aiohttp.ClientRequest,
    handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]],
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostError(str(error) or type(error).__name__) from error


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
