"""The fault proxy as a process: start, pass requests until a signal, stop in order."""

import asyncio
import asyncio.sslproto
import base64
import functools
import pathlib
import secrets
import ssl
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from harness import clocks, listening, processes, tls_authorities, writing
from harness.client import kubeconfig_files
from harness.fault_proxy import (
    http_headers,
    proxied_clients,
    settings,
    stale_reads,
    statuses,
    upstreams,
)
from harness.faults import admin_api, injection

HOST = "127.0.0.1"
TLS_BUFFER_BYTES = 32 * 1024
"""Two records of TLS."""
_CERTIFICATE_DAYS = 365
_NAME = "flake-hunt fault proxy"
STOP_TIMEOUT_S = 3.0
"""Time for requests under way to end when the proxy stops."""
_GARBAGE_THRESHOLD = 10_000


def serve(
    settings_file: pathlib.Path, *, ready_file: pathlib.Path | None, note: Callable[[str], None]
) -> int:
    """Pass requests until SIGTERM or SIGINT, then return 0.

    `note` gets lines for the log. Raises HarnessError, and leaves no kubeconfig behind, if the
    proxy cannot start.
    """
    chosen = settings.load(settings_file)
    for client in chosen.clients:
        upstreams.require_reachable(client)
    processes.allow_files()
    # Small buffers, instead of 256 KiB, for the two connections of each watch; CPython's asyncio.
    asyncio.sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
    proxy = _Proxy(chosen, note)
    try:
        asyncio.run(proxy.run(ready_file))
    finally:
        for path in proxy.written:
            path.unlink(missing_ok=True)
    return 0


class _Proxy:
    """One proxy from start to end."""

    def __init__(self, chosen: settings.Settings, note: Callable[[str], None]) -> None:
        self._settings, self._note = chosen, note
        self._listening: list[asyncio.Server] = []
        self.written: list[pathlib.Path] = []
        """The kubeconfigs that exist because of this proxy."""

    async def run(self, ready_file: pathlib.Path | None) -> None:
        """Listen, pass requests until a signal, then pass what is held, and end."""
        stopped = listening.until_signal()
        faults = injection.Faults(call_later=asyncio.get_running_loop().call_later)
        notes = stale_reads.VersionNotes(faults, always=self._settings.notes_versions)
        async with upstreams.open_session() as session:
            clients = [
                proxied_clients.ProxiedClient(client, session, faults, notes, self._note)
                for client in self._settings.clients
            ]
            await self._listen_to_clients(clients)
            begin_notes = functools.partial(notes.begin, clients[0].upstream)
            admin = await self._listen_to_admin(faults, on_change=begin_notes)
            begin_notes()
            listening.begin(ready_file, garbage_threshold=_GARBAGE_THRESHOLD)
            await stopped.wait()
            notes.stop()
            for server in self._listening:
                server.close()
            faults.clear()
            await asyncio.gather(*(client.stop(timeout_s=STOP_TIMEOUT_S) for client in clients))
            admin.pre_shutdown()
            await admin.shutdown(STOP_TIMEOUT_S)

    async def _listen_to_clients(self, clients: list[proxied_clients.ProxiedClient]) -> None:
        authority = tls_authorities.Authority(f"{_NAME} CA", days=_CERTIFICATE_DAYS)
        context = listening.tls_context(authority.server(_NAME, [HOST, "localhost"]))
        certificate = base64.b64encode(authority.certificate).decode()
        for client in clients:
            port = await self._listen(client.server, client.settings.port, context)
            cluster = {
                "server": f"https://{HOST}:{port}",
                "certificate-authority-data": certificate,
            }
            namespace = _namespace(client.settings.kubeconfig)
            self._write(client.settings.proxied_kubeconfig, cluster, client.token, namespace)

    async def _listen_to_admin(
        self, faults: injection.Faults, *, on_change: Callable[[], None]
    ) -> web.Server:
        token = secrets.token_urlsafe()
        server = _admin_server(faults, token, on_change=on_change)
        port = await self._listen(server, self._settings.admin.port)
        self._write(self._settings.admin.kubeconfig, {"server": f"http://{HOST}:{port}"}, token)
        return server

    async def _listen(
        self, server: web.Server, port: int, context: ssl.SSLContext | None = None
    ) -> int:
        opened = await listening.listen(server, HOST, port, context=context)
        self._listening.append(opened)
        return listening.port_of(opened)

    def _write(
        self,
        path: pathlib.Path,
        cluster: dict[str, str],
        token: str,
        namespace: str = "",
    ) -> None:
        document = kubeconfig_files.of_server(cluster, {"token": token}, namespace=namespace)
        with writing.explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.written.append(path)
            kubeconfig_files.write(path, document)


def _namespace(kubeconfig: pathlib.Path) -> str:
    """Return the namespace that a kubeconfig's context names, empty if it names none."""
    context = kubeconfig_files.extracted([kubeconfig])["contexts"][0].get("context") or {}
    return str(context.get("namespace") or "")


def _admin_server(
    faults: injection.Faults, token: str, *, on_change: Callable[[], None]
) -> web.Server:
    """Return the server of the admin API for the faults of one proxy.

    `on_change` is called after each request that may have added a fault.
    """

    async def handle(request: web.BaseRequest) -> web.Response:
        if not http_headers.has_token(request, token):
            return _failure(401, "Unauthorized", "expected the token of the admin API")
        if not request.path.startswith(admin_api.PREFIX):
            return _failure(404, "NotFound", f"expected a path below {admin_api.PREFIX}")
        try:
            answer = admin_api.answer(
                faults,
                request.method,
                request.path,
                query=request.query_string,
                body=await request.read(),
                boot_id=clocks.boot_id(),
            )
        except admin_api.NotServedError as error:
            return _failure(404, "NotFound", str(error))
        except ValueError as error:
            return _failure(400, "BadRequest", f"not a fault: {error}")
        if request.method == "POST":
            on_change()
        return _document(*answer)

    return web.Server(handle, access_log=None)


def _failure(code: int, reason: str, message: str) -> web.Response:
    return _document(code, statuses.failure(code, reason, message))


def _document(status: int, document: Any) -> web.Response:
    body = msgspec.json.encode(document)
    return web.Response(status=status, body=body, content_type=statuses.CONTENT_TYPE)
