"""A server process, raw connections to it, and what every answer of an API server has in common."""

import contextlib
import dataclasses
import http.client
import json
import pathlib
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from harness import processes
from harness.apiserver.scheme import api_types
from harness.apiserver.serializer import protobuf
from harness.client import kubeconfigs

TIMEOUT_S = 20
START_S = 60
TEXTS = ("404 page not found", "Bad Request", "too large", "ok")
INTERNAL_ERRORS = (
    "strconv.ParseUint",  # a resourceVersion that is no number
    "does not contain declared merge key",
    "failed to create typed patch object",
    "unable to find api field",
    "cannot convert int64 to float64",
    "invalid",
)
"""Errors of the client for which kube-apiserver answers 500."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    content_type: str
    body: bytes


class Server:
    """The process under fire."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.log = directory / "log"
        plain = directory / "plain"
        argv = ["--kubeconfig", str(directory / "tls"), "--set", f"plain_kubeconfig={plain}"]
        self.process = processes.start_ready(
            "apiserver",
            processes.command("part", "apiserver", *argv),
            log=self.log,
            ready=directory / "ready",
            timeout_s=START_S,
        )
        self.endpoint = kubeconfigs.load(plain)

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        head = {"Authorization": f"Bearer {self.endpoint.token}", **(headers or {})}
        where = self.endpoint.host, self.endpoint.port
        with contextlib.closing(
            http.client.HTTPConnection(*where, timeout=TIMEOUT_S)
        ) as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, target, body=body, headers=head)
            with connection.getresponse() as response:
                return Answer(
                    response.status, response.headers.get("Content-Type", ""), response.read()
                )

    @contextlib.contextmanager
    def connected(self) -> Iterator[socket.socket]:
        where = self.endpoint.host, self.endpoint.port
        with socket.create_connection(where, TIMEOUT_S) as connection:
            yield connection

    def head(self, method: str, target: str, *more: str) -> bytes:
        lines = [
            f"{method} {target} HTTP/1.1",
            "Host: x",
            f"Authorization: Bearer {self.endpoint.token}",
            *more,
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def require_health(self) -> None:
        """It runs, it answers, and nothing that it did not expect has happened in it."""
        assert self.process.poll() is None, self.process.log_tail()
        assert self.send("GET", "/readyz").body == b"ok"
        log = self.log.read_text(errors="replace")
        assert "Traceback" not in log, log[-3000:]
        assert "exception was never retrieved" not in log, log[-3000:]

    def stop(self) -> None:
        self.process.kill()


def require_sense(answer: Answer) -> None:
    """The answer is one that a kube-apiserver could give to a client's mistake, or to no
    mistake.
    """
    if answer.status < 400:
        return
    if answer.content_type.startswith("text/") or not answer.body:
        text = answer.body.decode()
        assert answer.status in (400, 404, 413, 431), answer
        assert any(known in text for known in TEXTS) or not text, answer
        return
    status = _status(answer)
    assert (status["kind"], status["apiVersion"]) == ("Status", "v1"), answer
    assert (status["status"], status["code"]) == ("Failure", answer.status), answer
    assert status["message"], answer
    _require_blame(answer.status, status)


def _status(answer: Answer) -> Mapping[str, Any]:
    if "protobuf" in answer.content_type:
        envelope = protobuf.open_envelope(answer.body)
        found = protobuf.read(api_types.of_kind("", "v1", "Status"), envelope.message)
        return {"kind": envelope.kind, "apiVersion": envelope.api_version, **found}
    if "yaml" in answer.content_type:
        loaded: Mapping[str, Any] = yaml.safe_load(answer.body)
        return loaded
    decoded: Mapping[str, Any] = json.loads(answer.body)
    return decoded


def _require_blame(code: int, status: Mapping[str, Any]) -> None:
    if code == 500:
        assert any(known in status["message"] for known in INTERNAL_ERRORS), status
    else:
        assert code < 500 or code == 504, status
