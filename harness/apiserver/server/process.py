"""The embedded API server as a process: start, serve until a signal, stop in order.

It listens by plain HTTP on loopback, and by TLS. kubectl does not send a token to http:// URLs, so
it needs TLS; the harness's own processes use plain HTTP, which is cheaper. Both require the token.
A server that is open to other hosts is open by TLS only.
"""

import asyncio
import contextlib
import dataclasses
import functools
import ipaddress
import pathlib
import random
import secrets
import ssl
from collections.abc import Callable
from typing import Annotated

import msgspec

from harness import clocks, errors, listening, processes
from harness.apiserver import persistence
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.server import audit_log, connections, identities, servers
from harness.apiserver.storage import watch_cache
from harness.faults import injection

STOP_TIMEOUT_S = 3.0
"""Time for current requests to finish when the server stops."""
_GARBAGE_THRESHOLD = 2_000
LOOPBACK = "127.0.0.1"

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of the server; port 0 takes a free port."""

    kubeconfig: pathlib.Path
    """Kubeconfig to write for people and kubectl: TLS, mode 0600."""
    plain_kubeconfig: pathlib.Path | None = None
    """Kubeconfig to write for the harness's own processes: plain HTTP, mode 0600."""
    host: str = LOOPBACK
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
    _check_host(options.host, is_open=options.is_open)
    _enable(options.runtime_config)
    feature_gates.choose(feature_gates.parse(options.feature_gates))
    processes.allow_files()
    asyncio.run(_Process(options, note).run())
    return 0


def _enable(runtime_config: tuple[str, ...]) -> None:
    for item in runtime_config:
        group_version, _, wanted = item.partition("=")
        known = dict.fromkeys(one.api_version for one in resources.OPTIONAL)
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
        self._failure: OSError | None = None
        self._journal: persistence.Journal | None = None
        self._audit: audit_log.AuditLog | None = None

    async def run(self) -> None:
        """Recover the store, listen, serve until a signal, and close everything in order."""
        self._stopped = listening.until_signal()
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
        options, certificates = self._options, identity.certificates
        plain_host = LOOPBACK if options.is_open else options.host
        plain = await self._listen(server, plain_host, options.port, identity.port)
        tls = await self._listen(
            server, options.host, options.tls_port, identity.tls_port, certificates.context()
        )
        with contextlib.closing(plain), contextlib.closing(tls):
            self._publish(identity, plain, tls)
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
        if known.host != options.host:
            return identities.make(options.host, token=known.token)
        return known

    def _open_store(self) -> stores.Store:
        if self._options.data_dir is None:
            return self._make_store(None)
        store, journal = persistence.open_journal(self._options.data_dir, self._make_store)
        self._journal = journal
        if journal.cut_bytes:
            self._note(
                f"{self._options.data_dir}: removed an incomplete last line ({journal.cut_bytes} "
                "bytes); it was never acknowledged"
            )
        return store

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
            journal=self._journal,
            audit=self._audit,
            faults=injection.Faults(call_later=asyncio.get_running_loop().call_later)
            if options.serves_faults
            else None,
            limits=options.limits,
            on_failure=self._on_failure,
        )

    def _on_failure(self, error: OSError) -> None:
        self._failure = error
        self._stopped.set()

    async def _listen(
        self,
        server: servers.Server,
        host: str,
        port: int,
        last_port: int,
        context: ssl.SSLContext | None = None,
    ) -> asyncio.Server:
        """Listen; with port 0 on the port of the last run if it is free: kubeconfigs name it."""
        listen = functools.partial(
            listening.listen, lambda: connections.Connection(server), host, context=context
        )
        if port or not last_port:
            return await listen(port)
        try:
            return await listen(last_port)
        except errors.UsageError:
            self._note(
                f"port {last_port} of the last run is taken: kubeconfigs that name it do not work "
                "any more"
            )
            return await listen(0)

    def _publish(
        self, identity: identities.ServerIdentity, plain: asyncio.Server, tls: asyncio.Server
    ) -> None:
        """Keep the ports, write the kubeconfigs, and say that the server is ready."""
        options = self._options
        if options.data_dir is not None:
            ports = {"port": listening.port_of(plain), "tls_port": listening.port_of(tls)}
            identities.save(options.data_dir, msgspec.structs.replace(identity, **ports))
        authority, token = identity.certificates.authority, identity.token
        identities.write(options.kubeconfig, _address_of(tls), token, authority=authority)
        if options.plain_kubeconfig is not None:
            identities.write(options.plain_kubeconfig, _address_of(plain), token)
        listening.begin(options.ready_file, garbage_threshold=_GARBAGE_THRESHOLD)
        if options.ready_file is None:
            path = options.kubeconfig
            self._note(f"ready: kubectl --kubeconfig {path} get nodes; Ctrl-C ends the server")


def _check_host(host: str, *, is_open: bool) -> None:
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


def _address_of(server: asyncio.Server) -> str:
    """Return the host:port at which a client on this machine reaches the server."""
    host, port = server.sockets[0].getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else LOOPBACK
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
