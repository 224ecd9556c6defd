"""The fault proxy as a process: start, pass requests until a signal, stop in order."""

import asyncio
import gc
import pathlib
import signal
from collections.abc import Callable

import aiohttp

from harness import clocks, processes, writing
from harness.client import kubeconfig_files
from harness.fault_proxy import (
    admin_server,
    listeners,
    proxied_clients,
    settings,
    upstreams,
    version_notes,
)
from harness.faults import injection

STOP_TIMEOUT_S = 3.0
"""Time for requests under way to end when the proxy stops."""
_GC_THRESHOLDS = (10_000, 10, 10)
"""Thresholds of Python's garbage collector. Only connections form cycles, so it runs rarely."""


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
    listeners.allow_files()
    listeners.save_memory()
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
        self._stopped = asyncio.Event()
        self._listening: list[asyncio.Server] = []
        self._certificate = listeners.ServingCertificate()
        self.written: list[pathlib.Path] = []
        """The kubeconfigs that exist because of this proxy."""

    async def run(self, ready_file: pathlib.Path | None) -> None:
        """Listen, pass requests until a signal, then pass what is held, and end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopped.set)
        faults = injection.Faults(now=_now, call_later=loop.call_later)
        notes = version_notes.VersionNotes(faults, always=self._settings.notes_versions)
        async with upstreams.open_session() as session:
            clients = await self._listen_to_clients(session, faults, notes)
            admin = await self._listen_to_admin(
                faults, on_change=lambda: notes.begin(clients[0].upstream)
            )
            notes.begin(clients[0].upstream)
            _tame_garbage_collection()
            if ready_file is not None:
                with writing.explained(ready_file):
                    processes.touch_ready(ready_file)
            await self._stopped.wait()
            notes.stop()
            await self._stop(clients, admin, faults)

    async def _listen_to_clients(
        self,
        session: aiohttp.ClientSession,
        faults: injection.Faults,
        notes: version_notes.VersionNotes,
    ) -> list[proxied_clients.ProxiedClient]:
        clients = [
            proxied_clients.ProxiedClient(client, session, faults, notes, self._note)
            for client in self._settings.clients
        ]
        for client in clients:
            context = self._certificate.context(_rejected(client.name, self._note))
            server = await listeners.listen(client.server, client.settings.port, context=context)
            self._listening.append(server)
            document = listeners.kubeconfig_of(
                f"https://{listeners.HOST}:{listeners.port_of(server)}",
                client.token,
                authority=self._certificate.authority,
                namespace=_namespace(client.settings.kubeconfig),
            )
            self._write(client.settings.proxied_kubeconfig, document)
        return clients

    async def _listen_to_admin(
        self, faults: injection.Faults, *, on_change: Callable[[], None]
    ) -> admin_server.AdminServer:
        admin = admin_server.AdminServer(faults, on_change=on_change)
        server = await listeners.listen(admin.server, self._settings.admin.port)
        self._listening.append(server)
        url = f"http://{listeners.HOST}:{listeners.port_of(server)}"
        self._write(self._settings.admin.kubeconfig, listeners.kubeconfig_of(url, admin.token))
        return admin

    def _write(self, path: pathlib.Path, document: dict[str, object]) -> None:
        with writing.explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.written.append(path)
            kubeconfig_files.write(path, document)

    async def _stop(
        self,
        clients: list[proxied_clients.ProxiedClient],
        admin: admin_server.AdminServer,
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


def _rejected(name: str, note: Callable[[str], None]) -> Callable[[str], None]:
    """Return what notes that a client does not accept the proxy's certificate, once."""
    noted: set[str] = set()

    def on_rejection(reason: str) -> None:
        if reason not in noted:
            noted.add(reason)
            note(
                f"{name} does not accept the certificate of the proxy ({reason}): it must use the "
                "certificate authority in the kubeconfig that the proxy wrote for it, and pin no other"
            )

    return on_rejection


def _tame_garbage_collection() -> None:
    """Exclude all current objects from garbage collection, and run it rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def _now() -> injection.FaultTime:
    return injection.FaultTime(clocks.wall_text_us(), clocks.monotonic_ns())
