"""A server whose answers a test chooses: what our own would never say."""

import contextlib
import http.server
import json
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.support import written_kubeconfigs

Answer = tuple[int, dict[str, Any]]
"""Code, and the document of the body."""


@contextlib.contextmanager
def serving(path: pathlib.Path, answer: Callable[[str], Answer]) -> Iterator[pathlib.Path]:
    """Serve an answer to GET of each path; write the kubeconfig, and return its path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = answer(self.path)
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            del args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield written_kubeconfigs.write(path, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()
