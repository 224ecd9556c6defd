"""The stand-alone parts with credentials that the API server refuses: told at once, with what to
do.
"""

import http.server
import json
import pathlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import errors, processes
from harness.client import apis, informers, transports

TIMEOUT_S = 120
PARTS = ["scheduler", "claim-controller", "kubelet"]
STATUS = {
    401: {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"},
    403: {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "jane may not list"},
    500: {"kind": "Status", "code": 500, "reason": "InternalError", "message": "later"},
}


class Refusing:
    """A server that answers with one code after the other, and with the last one for ever."""

    def __init__(self, folder: pathlib.Path, *codes: int) -> None:
        self.codes = list(codes)
        self.asked = 0
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.kubeconfig = folder / "refused"
        cluster = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
        }
        self.kubeconfig.write_text(json.dumps(document))

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code = outer.codes[min(outer.asked, len(outer.codes) - 1)]
                outer.asked += 1
                data = json.dumps(STATUS[code]).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                del args

        return Handler

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def refusing(tmp_path: pathlib.Path) -> Iterator[Callable[..., Refusing]]:
    started: list[Refusing] = []

    def start(*codes: int) -> Refusing:
        started.append(Refusing(tmp_path, *codes))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def end_of(part: str, kubeconfig: pathlib.Path) -> tuple[int, str]:
    argv = processes.command("part", part, "--kubeconfig", str(kubeconfig))
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("part", PARTS)
def test_a_wrong_token(server: Any, tmp_path: pathlib.Path, part: str) -> None:
    document = json.loads(server.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": "wrong"}
    path = tmp_path / "wrong"
    path.write_text(json.dumps(document))
    code, said = end_of(part, path)
    assert code == 2
    (line,) = said.splitlines()
    assert "got 401 Unauthorized" in line
    assert "log in again, or name another kubeconfig with --kubeconfig" in line


@pytest.mark.parametrize("part", PARTS)
def test_a_user_who_may_not(refusing: Callable[..., Refusing], part: str) -> None:
    code, said = end_of(part, refusing(403).kubeconfig)
    assert code == 2
    (line,) = said.splitlines()
    assert "got 403 Forbidden: jane may not list" in line
    assert "name a kubeconfig whose user may list, watch and change" in line


def follow(server: Refusing, timeout_s: float) -> None:
    api = apis.Api(transports.connect(server.kubeconfig))
    informer = informers.Informer(api, apis.LEASES, name="leases", handlers=[])
    informer.start()
    try:
        informer.wait_synced(timeout_s=timeout_s)
    finally:
        informer.stop()


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_one_refusal_is_none_yet(refusing: Callable[..., Refusing]) -> None:
    """After the first, an exec plugin gives something new; other failures may pass by
    themselves.
    """
    with pytest.raises(errors.ClusterError, match=r"got none \(500 InternalError: later\)"):
        follow(refusing(401, 500), 0.5)
    refused = refusing(500, 401, 403)
    with pytest.raises(errors.KubeconfigError, match="got 403 Forbidden"):
        follow(refused, TIMEOUT_S)
    assert refused.asked == 3
