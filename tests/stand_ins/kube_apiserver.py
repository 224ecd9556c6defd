"""Stands in for a kube-apiserver binary: its flags, what it demands of them, its way to readiness,
its authentication and its ends.

It requires a real etcd and checks its health; the API behind it is the embedded server's, which
keeps its data in etcd's folder, so that they outlive this process as the real one's do. It does
what the real one does besides: nodes are born with the taint `node.kubernetes.io/not-ready`, a
deleted namespace stays until a client finalizes it, and so do objects whose owners are gone (the
embedded server would remove both itself), /readyz fails for a while, anonymous callers may see the
version and nothing else. Messages are the real ones. A client certificate of another authority is
refused in the handshake here, and with a 401 by the real one.
"""

import asyncio
import contextlib
import csv
import json
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from typing import Any

import psutil

from tests.stand_ins import pflag

VERSION = "Kubernetes v1.36.4"
READY_AFTER_S = 0.3
ETCD_TIMEOUT_S = 5.0
OPEN = ("/readyz", "/livez", "/healthz", "/version")
_NAMESPACE = re.compile(r"(/api/v1/namespaces/([^/]+))(/finalize)?")
_CONTENT = re.compile(r"/apis?/.+/namespaces/([^/]+)/([^/]+)(/.*)?")
IMMORTAL = ("default", "kube-public", "kube-system")
DELETED = "stand-in/deleted"
"""In place of a deletionTimestamp, which clients cannot set."""
_NO_FILE = "open {path}: no such file or directory"
FILES = {
    "service-account-signing-key-file": f"failed to parse service-account-issuer-key-file: {_NO_FILE}",
    "service-account-key-file": _NO_FILE,
    "tls-cert-file": _NO_FILE,
    "tls-private-key-file": _NO_FILE,
    "client-ca-file": _NO_FILE,
    "token-auth-file": _NO_FILE,
    "audit-policy-file": 'loading audit policy file: failed to read file path "{path}": '
    + _NO_FILE,
}
"""The files that it reads, and what it says of one that is missing."""
MODES = {"AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"}
RECONCILERS = ("master-count", "lease", "none")


def validate(flags: pflag.Flags) -> None:
    problems = []
    if not flags.get("etcd-servers"):
        problems.append("--etcd-servers must be specified")
    if not flags.get("service-account-issuer"):
        problems.append("service-account-issuer is a required flag")
    if not flags.get("service-account-key-file"):
        problems.append(
            "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set"
        )
    if not (flags.get("service-account-signing-key-file") and flags.get("service-account-issuer")):
        problems.append(
            "--service-account-signing-key-file and --service-account-issuer are required flags"
        )
    chosen = filter(None, flags.get("authorization-mode", "").split(","))
    problems += [
        f'authorization-mode "{name}" is not a valid mode' for name in chosen if name not in MODES
    ]
    reconciler = flags.get("endpoint-reconciler-type", "lease")
    if reconciler not in RECONCILERS:
        problems.append(
            f"--endpoint-reconciler-type error: unknown endpoint reconciler type: {reconciler}"
        )
    if problems:
        pflag.fail(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    require_files(flags)


def require_files(flags: pflag.Flags) -> None:
    for name, words in FILES.items():
        path = flags.get(name)
        if path and not pathlib.Path(path).is_file():
            pflag.fail(words.format(path=path))


def require_etcd(servers: str) -> None:
    deadline = time.monotonic() + ETCD_TIMEOUT_S
    while time.monotonic() < deadline:
        if _is_healthy(f"{servers.split(',', maxsplit=1)[0]}/health"):
            return
        time.sleep(0.05)
    pflag.fail("context deadline exceeded")


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(json.load(answer)["health"] == "true")
    except (OSError, ValueError):
        return False


def etcd_folder(servers: str) -> pathlib.Path:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            options = dict(
                word.removeprefix("--").partition("=")[::2] for word in process.cmdline()
            )
            if options.get("advertise-client-urls") == servers:
                return pathlib.Path(options["data-dir"])
    raise SystemExit(f"the stand-in found no etcd that listens on {servers}")


class Backend:
    """The embedded server behind."""

    def __init__(self, folder: pathlib.Path, audit_log: str | None) -> None:
        folder.mkdir(exist_ok=True)
        kubeconfig, ready = folder / "plain", folder / "ready"
        ready.unlink(missing_ok=True)
        argv = [
            "part",
            "apiserver",
            "--kubeconfig",
            str(folder / "user"),
            "--set",
            f"plain_kubeconfig={kubeconfig}",
            "--data-dir",
            str(folder / "data"),
        ]
        if audit_log is not None:
            argv += ["--set", f"audit_log={audit_log}"]
            argv += ["--set", "audit_writes_of=resourceclaims", "--set", "audit_writes_of=pods"]
        program = [sys.executable, "-m", "tests.stand_ins.uncollected_server"]
        command = [*program, *argv, "--set", f"ready_file={ready}"]
        self.process = subprocess.Popen(command)
        while not ready.exists():
            if self.process.poll() is not None:
                pflag.fail("the stand-in's own server did not start")
            time.sleep(0.02)
        document = json.loads(kubeconfig.read_text())
        self.host, _, port = (
            document["clusters"][0]["cluster"]["server"].removeprefix("http://").partition(":")
        )
        self.port = int(port)
        self.token = document["users"][0]["user"]["token"]


class Front:
    """Terminates TLS, decides who asks, and passes on."""

    def __init__(self, flags: pflag.Flags, backend: Backend) -> None:
        self._backend = backend
        self._tokens = set()
        if path := flags.get("token-auth-file"):
            with pathlib.Path(path).open() as file:
                self._tokens = {row[0] for row in csv.reader(file)}
        self._ready_at = time.monotonic() + READY_AFTER_S
        self._namespaces = Namespaces()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        known = bool(writer.get_extra_info("peercert"))
        far_reader, far_writer = await asyncio.open_connection(
            self._backend.host, self._backend.port
        )
        back = asyncio.ensure_future(self._copy(far_reader, writer))
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode().split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                headers = [line for line in lines[1:] if line]
                values = {
                    key.lower(): value.strip()
                    for key, _, value in (line.partition(":") for line in headers)
                }
                body = await reader.readexactly(int(values.get("content-length", 0)))
                answer = self._answer(path, values, known=known)
                answer = answer or self._namespaces.refusal(method, path, body)
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
                    continue
                if method == "POST" and path.partition("?")[0] == "/api/v1/nodes":
                    body = _tainted(body)
                lines[0], body, kind = self._namespaces.passed_on(method, path, body, lines[0])
                own = ("authorization", "content-length", *(["content-type"] if kind else []))
                kept = [line for line in headers if line.partition(":")[0].lower() not in own]
                kept += [f"Content-Type: {kind}"] if kind else []
                kept += [f"Authorization: Bearer {self._backend.token}"]
                kept += [f"Content-Length: {len(body)}"] if body else []
                far_writer.write("\r\n".join([lines[0], *kept, "", ""]).encode() + body)
                await far_writer.drain()
        finally:
            back.cancel()
            far_writer.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.close()

    def _answer(self, path: str, headers: dict[str, str], *, known: bool) -> bytes | None:
        authorization = headers.get("authorization", "")
        if authorization and authorization.removeprefix("Bearer ") not in self._tokens:
            return _status(401, "Unauthorized", "Unauthorized")
        if path.partition("?")[0] in ("/readyz", "/healthz", "/livez"):
            if time.monotonic() < self._ready_at:
                return _plain(
                    500,
                    "[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed",
                )
            return _plain(200, "ok")
        if not (authorization or known or path in OPEN):
            message = f'forbidden: User "system:anonymous" cannot get path "{path}"'
            return _status(403, "Forbidden", message)
        return None


def _tainted(body: bytes) -> bytes:
    node: dict[str, Any] = json.loads(body)
    taints = node.setdefault("spec", {}).setdefault("taints", [])
    taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    return json.dumps(node).encode()


class Namespaces:
    """Admission's NamespaceLifecycle, and namespaces that stay until a controller empties them."""

    def __init__(self) -> None:
        self._going: set[str] = set()

    def refusal(self, method: str, path: str, body: bytes) -> bytes | None:
        """The answer if admission refuses."""
        path = path.partition("?")[0]
        space, content = _NAMESPACE.fullmatch(path), _CONTENT.fullmatch(path)
        if method == "DELETE" and space and space[2] in IMMORTAL:
            return _forbidden("namespaces", space[2], "this namespace may not be deleted")
        if method == "POST" and content and content[1] in self._going:
            name = json.loads(body).get("metadata", {}).get("name", "")
            why = f"unable to create new content in namespace {content[1]} because it is being terminated"
            return _forbidden(content[2], name, why)
        return None

    def passed_on(self, method: str, path: str, body: bytes, line: str) -> tuple[str, bytes, str]:
        """A deletion only marks the namespace; that its finalizers are gone is what deletes it.
        Request line, body, content type.
        """
        match = _NAMESPACE.fullmatch(path.partition("?")[0])
        if match is None:
            return line, body, ""
        space, name, finalize = match.groups()
        if method == "DELETE":
            self._going.add(name)
            mark = json.dumps({"metadata": {"annotations": {DELETED: "true"}}}).encode()
            return f"PATCH {space} HTTP/1.1", mark, "application/merge-patch+json"
        if method == "PUT" and finalize and not json.loads(body)["spec"].get("finalizers"):
            self._going.discard(name)
            return f"DELETE {space} HTTP/1.1", b"", ""
        return line, body, ""


def _forbidden(resource: str, name: str, why: str) -> bytes:
    return _status(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}')


def _status(code: int, reason: str, message: str) -> bytes:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return _response(code, json.dumps(status).encode(), "application/json")


def _plain(code: int, text: str) -> bytes:
    return _response(code, text.encode(), "text/plain; charset=utf-8")


def _response(code: int, body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 {code} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(flags: pflag.Flags, backend: Backend) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(flags["tls-cert-file"], flags["tls-private-key-file"])
    if authority := flags.get("client-ca-file"):
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(authority)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    host, port = flags["bind-address"], int(flags["secure-port"])
    front = Front(flags, backend)
    server = await asyncio.start_server(front.serve, host, port, ssl=context)
    await stopped.wait()
    server.close()


def listen_or_fail(flags: pflag.Flags) -> None:
    import socket

    where = f"{flags.get('bind-address', '0.0.0.0')}:{flags.get('secure-port', '6443')}"
    try:
        socket.create_server((flags["bind-address"], int(flags["secure-port"]))).close()
    except OSError:
        pflag.fail(
            f"failed to create listener: failed to listen on {where}: listen tcp {where}: bind: address already in use"
        )


def main() -> None:
    flags = pflag.parse("kube-apiserver", sys.argv[1:], with_usage=False)
    pflag.require_gates(flags.get("feature-gates", ""))
    if "version" in flags:
        print(VERSION)
        return
    validate(flags)
    listen_or_fail(flags)
    require_etcd(flags["etcd-servers"])
    folder = etcd_folder(flags["etcd-servers"]) / "stand-in"
    backend = Backend(folder, flags.get("audit-log-path"))
    try:
        asyncio.run(serve(flags, backend))
    finally:
        backend.process.terminate()
        backend.process.wait()


if __name__ == "__main__":
    main()
