"""Serves `/metrics` and `/healthz` of a subject process on loopback, by plain HTTP.

Kubernetes' own processes serve them by TLS, to clients with credentials; here only this machine can
read them.
"""

import contextlib
import http
import http.server
import threading
from collections.abc import Callable, Iterable, Iterator

from harness import errors
from harness.metrics import metric_families

HOST = "127.0.0.1"
Collect = Callable[[], Iterable[metric_families.Family]]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, collect: Collect) -> None:
        super().__init__((HOST, port), _Handler)
        self.collect = collect

    def handle_error(self, request: object, client_address: object) -> None:
        """Do nothing: a client that goes away is no failure of the process."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/metrics":
                text = metric_families.render(self.server.collect())
                self._answer(http.HTTPStatus.OK, text, metric_families.CONTENT_TYPE)
            case "/healthz":
                self._answer(http.HTTPStatus.OK, "ok", "text/plain; charset=utf-8")
            case _:
                text = "404 page not found\n"
                self._answer(http.HTTPStatus.NOT_FOUND, text, "text/plain; charset=utf-8")

    def _answer(self, status: http.HTTPStatus, text: str, content_type: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Write no line for each request."""


@contextlib.contextmanager
def serving(port: int | None, collect: Collect) -> Iterator[int | None]:
    """Serve on this port, or on a free one for 0; yield the port. None: serve nothing.

    Raises UsageError if the port is taken.
    """
    if port is None:
        yield None
        return
    try:
        server = _Server(port, collect)
    except OSError as error:
        raise errors.UsageError(
            f"expected a free port for --metrics-port, got {port} ({error.strerror}): "
            "choose another one, or 0 for any"
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
