"""The embedded API server as a process: two listeners on loopback, kubeconfigs, and an orderly end.

kubectl drops a token on http:// addresses, so there is a TLS listener for it; the harness's own processes use the plain one,
which costs less. Both want the token.
"""

import asyncio
import base64
import dataclasses
import ipaddress
import json
import os
import pathlib
import random
import secrets
import signal
import tempfile

from harness import clocks, errors, processes
from harness.apiserver import certificates, connections, serving
from harness.apiserver import store as stores

BACKLOG = 1024


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the server runs; port 0 takes a free one."""

    kubeconfig: pathlib.Path
    """Written for people and kubectl: TLS, mode 0600."""
    plain_kubeconfig: pathlib.Path | None = None
    """Written for the harness's own processes: plain HTTP, mode 0600."""
    host: str = "127.0.0.1"
    port: int = 0
    tls_port: int = 0
    ready_file: pathlib.Path | None = None
    watch_history: int = stores.WATCH_HISTORY_DEFAULT
    """Commits of each resource that a watch can resume from."""


def serve(options: Options) -> int:
    """Serve until SIGTERM or SIGINT; 0 then. ClusterError when it cannot listen."""
    if not ipaddress.ip_address(options.host).is_loopback:
        raise errors.UsageError(
            f"expected a loopback address, got {options.host}: the server guards its objects with one token only"
        )
    asyncio.run(_serve(options))
    return 0


async def _serve(options: Options) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    token, identity = secrets.token_urlsafe(32), certificates.make(options.host)
    store = stores.Store(
        now=clocks.wall_text,
        stream=random.Random(secrets.randbits(64)),
        watch_history=options.watch_history,
    )
    server = serving.Server(
        store, token=token, now=clocks.wall_text, coin=random.Random(secrets.randbits(64))
    )
    plain = await _listen(server, options.host, options.port)
    tls = await _listen(server, options.host, options.tls_port, identity=identity)
    _write_kubeconfigs(options, token=token, identity=identity, plain=plain, tls=tls)
    if options.ready_file is not None:
        processes.touch_ready(options.ready_file)
    await stopped.wait()
    plain.close()
    tls.close()
    connections.abort_all(server.connections)


async def _listen(
    server: serving.Server,
    host: str,
    port: int,
    *,
    identity: certificates.Identity | None = None,
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    context = identity.context() if identity else None
    try:
        return await loop.create_server(
            lambda: connections.Connection(server), host, port, ssl=context, backlog=BACKLOG
        )
    except OSError as error:
        raise errors.ClusterError(
            f"expected to listen on {host}:{port}, but {os.strerror(error.errno or 0).lower()}: "
            "name another port, or 0 for a free one"
        ) from error


def _write_kubeconfigs(
    options: Options,
    *,
    token: str,
    identity: certificates.Identity,
    plain: asyncio.Server,
    tls: asyncio.Server,
) -> None:
    authority = base64.b64encode(identity.authority).decode()
    secure = {"server": f"https://{_address(tls)}", "certificate-authority-data": authority}
    _write_kubeconfig(options.kubeconfig, secure, token)
    if options.plain_kubeconfig is not None:
        _write_kubeconfig(options.plain_kubeconfig, {"server": f"http://{_address(plain)}"}, token)


def _address(server: asyncio.Server) -> str:
    host, port = server.sockets[0].getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _write_kubeconfig(path: pathlib.Path, cluster: dict[str, str], token: str) -> None:
    """A kubeconfig in JSON, which is YAML too; whole or not at all, and for nobody else's eyes."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "flake-hunt", "cluster": cluster}],
        "users": [{"name": "flake-hunt", "user": {"token": token}}],
        "contexts": [
            {"name": "flake-hunt", "context": {"cluster": "flake-hunt", "user": "flake-hunt"}}
        ],
        "current-context": "flake-hunt",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".kubeconfig-")
    with os.fdopen(descriptor, "w") as file:  # mkstemp makes it 0600
        json.dump(document, file, indent=2)
        file.write("\n")
    pathlib.Path(temporary).replace(path)
