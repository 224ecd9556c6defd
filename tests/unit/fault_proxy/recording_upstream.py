"""An HTTPS server in place of an API server, which answers with the request that it got.

It says who the client is by its certificate.
"""

import contextlib
import gzip
import http.server
import json
import pathlib
import ssl
import threading
from collections.abc import Iterator
from typing import Any

from harness import tls_authorities

SERVER_NAME = "upstream.example"
LONG = json.dumps({"metadata": {"name": "long"}, "items": ["x" * 1000] * 200}).encode()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "RecordingUpstream"

    def handle_any(self) -> None:
        self.server.requests.append((self.command, self.path))
        body = self._body()
        path = self.path.partition("?")[0].removeprefix(self.server.prefix)
        if path == "/api/v1/gzip":
            self._send(gzip.compress(LONG), ("Content-Encoding", "gzip"))
        elif self.headers.get("Authorization") in self.server.rejected:
            self._send(b"{}", status=401)
        else:
            self._send(json.dumps(self._described(body)).encode())

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _described(self, body: bytes) -> dict[str, Any]:
        certificate = self.connection.getpeercert() or {}  # type: ignore[attr-defined]
        names = dict(pair[0] for pair in certificate.get("subject", ()))
        return {
            "method": self.command,
            "path": self.path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "user": names.get("commonName"),
            "body": body.decode("latin-1"),
        }

    def _send(self, body: bytes, *headers: tuple[str, str], status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
    setattr(_Handler, f"do_{method}", _Handler.handle_any)


class RecordingUpstream(http.server.ThreadingHTTPServer):
    """The server; `requests` are (method, path) of all that came."""

    daemon_threads = True

    def __init__(self, authority: tls_authorities.Authority, folder: pathlib.Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str]] = []
        self.rejected: set[str] = set()
        """Values of the header Authorization that it answers with 401."""
        self.prefix = ""
        pair = authority.server(SERVER_NAME, [SERVER_NAME, "127.0.0.1"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls_authorities.write(folder, "upstream", pair))
        context.load_verify_locations(cadata=authority.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_port}{self.prefix}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # connections that a test breaks


@contextlib.contextmanager
def serving(
    authority: tls_authorities.Authority, folder: pathlib.Path
) -> Iterator[RecordingUpstream]:
    server = RecordingUpstream(authority, folder)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
