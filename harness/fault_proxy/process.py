"""The fault proxy as a process: start, pass requests until a signal, stop in order."""

import asyncio
import asyncio.sslproto
import base64
import hmac
import pathlib
import secrets
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from harness import clocks, listening, processes, tls_authorities, writing
from harness.client import kubeconfig_files
from harness.fault_proxy import proxied_clients, settings, stale_reads, statuses, upstreams
from harness.faults import admin_api, injection

_TOKEN_BYTES = 32


class AdminServer:
    """The admin API for the faults of one proxy."""

    def __init__(self, faults: injection.Faults, *, on_change: Callable[[], None]) -> None:
        """`on_change` is called after each request that may have added a fault."""
        self._faults, self._on_change = faults, on_change
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._authorization = f"Bearer {self.token}".encode()
        self.server = web.Server(self._handle, access_log=None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="replace")
        if not hmac.compare_digest(given, self._authorization):
            return _failure(401, "Unauthorized", "expected the token of the admin API")
        if not request.path.startswith(admin_api.PREFIX):
            return _failure(404, "NotFound", f"expected a path below {admin_api.PREFIX}")
        try:
            return _document(*await self._answer(request))
        except admin_api.NotServedError as error:
            return _failure(404, "NotFound", str(error))
        except ValueError as error:
            return _failure(400, "BadRequest", f"not a fault: {error}")

    async def _answer(self, request: web.BaseRequest) -> tuple[int, Any]:
        answer = admin_api.answer(
            self._faults,
            request.method,
            request.path,
            query=request.query_string,
            body=await request.read(),
            boot_id=clocks.boot_id(),
        )
        if request.method == "POST":
            self._on_change()
        return answer


def _failure(code: int, reason: str, message: str) -> web.Response:
    return _document(code, statuses.failure(code, reason, message))


def _document(status: int, document: Any) -> web.Response:
    body = msgspec.json.encode(document)
    return web.Response(status=status, body=body, content_type=statuses.CONTENT_TYPE)


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
        self._authority = tls_authorities.Authority(f"{_NAME} CA", days=_CERTIFICATE_DAYS)
        self.written: list[pathlib.Path] = []
        """The kubeconfigs that exist because of this proxy."""

    async def run(self, ready_file: pathlib.Path | None) -> None:
        """Listen, pass requests until a signal, then pass what is held, and end."""
        stopped = listening.until_signal()
        faults = injection.Faults(call_later=asyncio.get_running_loop().call_later)
        notes = stale_reads.VersionNotes(faults, always=self._settings.notes_versions)
        async with upstreams.open_session() as session:
            clients = await self._listen_to_clients(session, faults, notes)
            admin = await self._listen_to_admin(
                faults, on_change=lambda: notes.begin(clients[0].upstream)
            )
            notes.begin(clients[0].upstream)
            listening.begin(ready_file, garbage_threshold=_GARBAGE_THRESHOLD)
            await stopped.wait()
            notes.stop()
            await self._stop(clients, admin, faults)

    async def _listen_to_clients(
        self,
        session: aiohttp.ClientSession,
        faults: injection.Faults,
        notes: stale_reads.VersionNotes,
    ) -> list[proxied_clients.ProxiedClient]:
        clients = [
            proxied_clients.ProxiedClient(client, session, faults, notes, self._note)
            for client in self._settings.clients
        ]
        context = listening.tls_context(self._authority.server(_NAME, [HOST, "localhost"]))
        authority = base64.b64encode(self._authority.certificate).decode()
        for client in clients:
            server = await listening.listen(
                client.server, HOST, client.settings.port, context=context
            )
            self._listening.append(server)
            document = kubeconfig_files.of_server(
                {
                    "server": f"https://{HOST}:{listening.port_of(server)}",
                    "certificate-authority-data": authority,
                },
                {"token": client.token},
                namespace=_namespace(client.settings.kubeconfig),
            )
            self._write(client.settings.proxied_kubeconfig, document)
        return clients

    async def _listen_to_admin(
        self, faults: injection.Faults, *, on_change: Callable[[], None]
    ) -> AdminServer:
        admin = AdminServer(faults, on_change=on_change)
        server = await listening.listen(admin.server, HOST, self._settings.admin.port)
        self._listening.append(server)
        document = kubeconfig_files.of_server(
            {"server": f"http://{HOST}:{listening.port_of(server)}"}, {"token": admin.token}
        )
        self._write(self._settings.admin.kubeconfig, document)
        return admin

    def _write(self, path: pathlib.Path, document: dict[str, object]) -> None:
        with writing.explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.written.append(path)
            kubeconfig_files.write(path, document)

    async def _stop(
        self,
        clients: list[proxied_clients.ProxiedClient],
        admin: AdminServer,
        faults: injection.Faults,
    ) -> None:
        """Accept nothing more, pass what faults hold, and end every connection."""
        for server in self._listening:
            server.close()
        faults.clear()
        await asyncio.gather(*(client.stop(timeout_s=STOP_TIMEOUT_S) for client in clients))
        await admin.server.shutdown(STOP_TIMEOUT_S)


def _namespace(kubeconfig: pathlib.Path) -> str:
    """Return the namespace that a kubeconfig's context names, empty if it names none."""
    context = kubeconfig_files.extracted([kubeconfig])["contexts"][0].get("context") or {}
    return str(context.get("namespace") or "")
