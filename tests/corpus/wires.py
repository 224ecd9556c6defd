"""Requests as the corpus writes them, on a connection each, and watches whose lines are read as
they come.
"""

import contextlib
import http.client
import json
import queue
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from harness.client import kubeconfigs

USER_AGENT = "corpus/1.0"
TIMEOUT_S = 20.0
_READ_BYTES = 1 << 20
Document = Mapping[str, Any]


class Wire:
    """Sends requests to one API server."""

    def __init__(self, endpoint: kubeconfigs.Endpoint) -> None:
        self._endpoint = endpoint

    def send(self, request: Document) -> "Answer":
        where = self._endpoint.host, self._endpoint.port
        connection = http.client.HTTPConnection(*where, timeout=TIMEOUT_S)
        try:
            return Answer(connection, self._exchange(connection, request))
        except BaseException:
            connection.close()
            raise

    def _exchange(
        self, connection: http.client.HTTPConnection, request: Document
    ) -> http.client.HTTPResponse:
        # The server may answer before it has read a body that is too large.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(
                request["method"],
                _target(request),
                body=_body(request),
                headers=self._headers(request),
            )
        return connection.getresponse()

    def _headers(self, request: Document) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        if self._endpoint.identity.token:
            headers["Authorization"] = f"Bearer {self._endpoint.identity.token}"
        if "body" in request or "bodyText" in request:
            headers["Content-Type"] = "application/json"
        for name, value in request.get("headers", {}).items():
            headers = {key: old for key, old in headers.items() if key.lower() != name.lower()}
            if value is not None:
                headers[name] = value
        return headers


class Answer:
    """An answer whose body is still to be read."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection, self._socket = connection, connection.sock
        self.response = response

    def read(self) -> bytes:
        """The whole body; TimeoutError when it goes on, as that of a watch does."""
        deadline, parts = time.monotonic() + TIMEOUT_S, []
        while part := self.response.read1(_READ_BYTES):
            parts.append(part)
            if time.monotonic() > deadline:
                raise TimeoutError(f"expected the body to end within {TIMEOUT_S} s")
        return b"".join(parts)

    def lines(self) -> Iterator[bytes]:
        """The lines of a body as they come, until it ends or is closed."""
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            while line := self.response.readline():
                if line.strip():
                    yield line

    def interrupt(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.response.close()
        self._connection.close()


def _body(request: Document) -> bytes | None:
    if "body" in request:
        return json.dumps(request["body"]).encode()
    return request["bodyText"].encode() if "bodyText" in request else None


def _target(request: Document) -> str:
    if not request.get("query"):
        return str(request["path"])
    query = urllib.parse.urlencode(request["query"], doseq=True, quote_via=urllib.parse.quote)
    return f"{request['path']}?{query}"


class Watch:
    """An open answer whose lines are read as they come."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._answer.lines():
            self._lines.put(line)
        self._answer.close()
        self._lines.put(None)

    def collect(
        self, expected_count: int, *, timeout_s: float, until_closed: bool, quiet_s: float
    ) -> tuple[list[Any], bool]:
        """Events until the stream closes (then True), or is quiet after the expected number of
        them.
        """
        events: list[Any] = []
        deadline = time.monotonic() + timeout_s
        while True:
            has_enough = len(events) >= expected_count and not until_closed
            wait_s = min(quiet_s if has_enough else timeout_s, deadline - time.monotonic())
            try:
                line = self._lines.get(timeout=max(wait_s, 0.001))
            except queue.Empty:
                return events, False
            if line is None:
                return events, True
            events.append(json.loads(line))

    def close(self) -> None:
        self._answer.interrupt()
        self._thread.join(TIMEOUT_S)
