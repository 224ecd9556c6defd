"""The embedded API server as a process: start, serve until a signal, stop in order."""

import asyncio
import contextlib
import dataclasses
import functools
import gc
import pathlib
import random
import secrets
import signal
from collections.abc import Callable
from typing import Annotated

import msgspec

from harness import clocks, errors, processes, writing
from harness.apiserver import persistence
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.server import identities, listeners, servers
from harness.apiserver.server.audit import audit_log
from harness.apiserver.storage import watch_cache
from harness.faults import injection

STOP_TIMEOUT_S = 3.0
"""Time for current requests to finish when the server stops."""
_GC_THRESHOLDS = (2_000, 10, 10)
"""Thresholds of Python's garbage collector. Only asyncio's connections form cycles, so it runs
rarely."""


Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of the server; port 0 takes a free port."""

    kubeconfig: pathlib.Path
    """Kubeconfig to write for people and kubectl: TLS, mode 0600."""
    plain_kubeconfig: pathlib.Path | None = None
    """Kubeconfig to write for the harness's own processes: plain HTTP, mode 0600."""
    host: str = listeners.LOOPBACK
    is_open: bool = False
    """True if `host` may be an address that other hosts can reach; by TLS only."""
    port: Port = 0
    tls_port: Port = 0
    ready_file: pathlib.Path | None = None
    watch_history: Annotated[int, msgspec.Meta(ge=1)] = stores.WATCH_HISTORY_DEFAULT
    """Number of commits of each resource that a watch can resume from."""
    data_dir: pathlib.Path | None = None
    """Directory to keep commits in; None: in memory only."""
    audit_log: pathlib.Path | None = None
    audit_writes_of: tuple[str, ...] = ()
    """Plural names of resources whose successful writes are logged only; empty: every request."""
    runtime_config: tuple[str, ...] = ()
    """Optional API versions to serve, as in kube-apiserver: `resource.k8s.io/v1beta2=true`."""
    empties_namespaces: bool = True
    """Do the work of the namespace controller, which kube-apiserver leaves to another process."""
    feature_gates: str = ""
    """Gates of `feature_gates` to switch, as in kube-apiserver: `DRAListTypeAttributes=true`."""
    serves_faults: bool = False
    """True if the fault API is served."""
    limits: servers.Limits = dataclasses.field(default_factory=servers.Limits)


def serve(options: ServerOptions, *, note: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT, then return 0.

    `note` gets lines for the user. Raises HarnessError if the server cannot start or go on.
    """
    listeners.check_host(options.host, is_open=options.is_open)
    _enable(options.runtime_config)
    feature_gates.choose(feature_gates.parse(options.feature_gates))
    listeners.allow_many_files()
    asyncio.run(_Process(options, note).run())
    return 0


def _enable(runtime_config: tuple[str, ...]) -> None:
    for item in runtime_config:
        group_version, _, wanted = item.partition("=")
        known = resources.optional_group_versions()
        if group_version not in known or wanted not in ("", "true", "false"):
            raise errors.UsageError(
                f"expected runtime_config GROUP/VERSION=true with one of {', '.join(known)}, got {item!r}"
            )
        if wanted != "false":
            resources.enable(group_version)


class _Process:
    """One server process from start to end."""

    def __init__(self, options: ServerOptions, note: Callable[[str], None]) -> None:
        self._options, self._note = options, note
        self._stopped = asyncio.Event()
        self._failure: OSError | None = None
        self._journal: persistence.Journal | None = None
        self._audit: audit_log.AuditLog | None = None

    async def run(self) -> None:
        """Recover the store, listen, serve until a signal, and close everything in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopped.set)
        identity, store = self._identity(), self._open_store()
        if self._options.audit_log is not None:
            self._audit = audit_log.AuditLog(
                self._options.audit_log,
                now=clocks.wall_text_us,
                writes_of=self._options.audit_writes_of,
            )
            if self._options.data_dir is not None:
                self._audit.begin_again(store.resource_version)
        server = self._make_server(store, identity)
        plain, tls = await self._listen(server, identity)
        with contextlib.closing(plain), contextlib.closing(tls):
            self._publish(identity, plain, tls)
            _tame_garbage_collection()
            await self._stopped.wait()
        await server.stop(timeout_s=STOP_TIMEOUT_S)
        self._close()

    # -------------------------------------------------------------- storage

    def _identity(self) -> identities.ServerIdentity:
        options, known = self._options, None
        if options.data_dir is not None:
            persistence.claim(options.data_dir)
            known = identities.load(options.data_dir)
        if known is None:
            return identities.make(options.host)
        return known if known.host == options.host else identities.move(known, options.host)

    def _open_store(self) -> stores.Store:
        if self._options.data_dir is None:
            return self._make_store(None)
        opened = persistence.open_journal(self._options.data_dir, self._make_store)
        self._journal = opened.journal
        if opened.cut_bytes:
            self._note(
                f"{self._options.data_dir}: removed an incomplete last line ({opened.cut_bytes} "
                "bytes); it was never acknowledged"
            )
        return opened.store

    def _make_store(self, past: watch_cache.Past | None) -> stores.Store:
        return stores.Store(
            now=clocks.wall_text,
            stream=random.Random(secrets.randbits(64)),
            watch_history=self._options.watch_history,
            empties_namespaces=self._options.empties_namespaces,
            past=past,
        )

    def _close(self) -> None:
        if self._failure is not None:
            raise persistence.unwritable(self._failure)
        if self._audit is not None:
            self._audit.close()
        if self._journal is not None:
            self._journal.close()

    # -------------------------------------------------------------- serving

    def _make_server(
        self, store: stores.Store, identity: identities.ServerIdentity
    ) -> servers.Server:
        options = self._options
        return servers.Server(
            store,
            token=identity.token,
            now=clocks.wall_text,
            coin=random.Random(secrets.randbits(64)),
            parts=servers.ServerParts(
                journal=self._journal,
                audit=self._audit,
                faults=_make_faults() if options.serves_faults else None,
                limits=options.limits,
                on_failure=self._on_failure,
            ),
        )

    def _on_failure(self, error: OSError) -> None:
        self._failure = error
        self._stopped.set()

    async def _listen(
        self, server: servers.Server, identity: identities.ServerIdentity
    ) -> tuple[asyncio.Server, asyncio.Server]:
        options = self._options
        listen = functools.partial(listeners.listen_again, server, note=self._note)
        plain_host = listeners.LOOPBACK if options.is_open else options.host
        plain = await listen(plain_host, options.port, last_port=identity.port)
        tls = await listen(
            options.host,
            options.tls_port,
            last_port=identity.tls_port,
            identity=identity.certificates,
        )
        return plain, tls

    def _publish(
        self, identity: identities.ServerIdentity, plain: asyncio.Server, tls: asyncio.Server
    ) -> None:
        """Keep the ports, write the kubeconfigs, and say that the server is ready."""
        options = self._options
        if options.data_dir is not None:
            ports = {"port": listeners.port_of(plain), "tls_port": listeners.port_of(tls)}
            identities.save(options.data_dir, msgspec.structs.replace(identity, **ports))
        authority, token = identity.certificates.authority, identity.token
        identities.write(options.kubeconfig, listeners.address_of(tls), token, authority=authority)
        if options.plain_kubeconfig is not None:
            identities.write(options.plain_kubeconfig, listeners.address_of(plain), token)
        if options.ready_file is not None:
            with writing.explained(options.ready_file):
                options.ready_file.parent.mkdir(parents=True, exist_ok=True)
                processes.touch_ready(options.ready_file)
        else:
            path = options.kubeconfig
            self._note(f"ready: kubectl --kubeconfig {path} get nodes; Ctrl-C ends the server")


def _make_faults() -> injection.Faults:
    def now() -> injection.FaultTime:
        return injection.FaultTime(clocks.wall_text_us(), clocks.monotonic_ns())

    return injection.Faults(now=now, call_later=asyncio.get_running_loop().call_later)


def _tame_garbage_collection() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
