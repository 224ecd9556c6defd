"""A server that carries faults: adding them, reading their record, and raw connections to it."""

import collections
import contextlib
import itertools
import json
import socket
import ssl
from collections.abc import Callable
from typing import Any, Self

from harness.faults import api_calls, injection

TIMEOUT_S = 20
FAULTS = "/flake-hunt/v1/faults"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
VICTIM = {"User-Agent": "victim/1"}
TOKEN = "secret-of-the-tests"


class Clock:
    """The clock of a server's faults: a delay is over when the test says so."""

    def __init__(self) -> None:
        self._ticks = itertools.count(1)
        self.delays: list[tuple[float, Callable[[], None]]] = []
        """The delays that have begun: their seconds, and the call at their end."""

    def now(self) -> injection.FaultTime:
        return injection.FaultTime("now", next(self._ticks))

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.delays.append((seconds, call))

    def parts(self) -> dict[str, Any]:
        """Parts of a server with faults; made on its loop."""
        registry = injection.Faults(now=self.now, call_later=self.call_later)
        return {"faults": registry}


def begin(live: Any, point: str, action: dict[str, Any], **given: Any) -> str:
    document = {"point": point, "action": action, "match": {"userAgent": "victim"}} | given
    status, made = live.call("POST", FAULTS, document)
    assert status == 201, made
    return str(made["name"])


def applied(live: Any, after: int = 0) -> list[dict[str, Any]]:
    status, document = live.call("GET", f"/flake-hunt/v1/applied?after={after}")
    assert status == 200
    assert document["bootID"]
    items: list[dict[str, Any]] = document["items"]
    return items


def impersonating(client: str) -> dict[str, str]:
    """The header with which a client of this name tells it."""
    return {"Impersonate-User": api_calls.user_of(client)}


class RawConnection:
    """A connection of the victim that reads the bytes as they come."""

    def __init__(self, live: Any, *, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        plain = socket.create_connection(("127.0.0.1", port or live.port), TIMEOUT_S)
        self.socket = context.wrap_socket(plain) if context else plain

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> None:
        lines = {
            "Host": "x",
            "Authorization": f"Bearer {TOKEN}",
            "Content-Length": str(len(body)),
            **VICTIM,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)

    def rest(self) -> tuple[bytes, str]:
        """Everything up to the end, and how it ended: `reset` or `closed`."""
        text = bytearray()
        while True:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                return bytes(text), "reset"
            if not data:
                return bytes(text), "closed"
            text += data


class RawWatch(RawConnection):
    """A watch of the victim."""

    def __init__(self, live: Any, query: str = "", **headers: str) -> None:
        super().__init__(live)
        self.ask(f"{CONFIGMAPS}?watch=1{query}", **headers)
        self._text = b""
        while b"\r\n\r\n" not in self._text:
            self._text += self.socket.recv(1 << 20)
        head, _, self._text = self._text.partition(b"\r\n\r\n")
        assert b"200 OK" in head, head
        self._data = b""
        self._events: collections.deque[tuple[str, dict[str, Any]]] = collections.deque()
        self.how_it_ended = ""
        self._unchunk()
        self._parse()

    def next(self) -> tuple[str, dict[str, Any]]:
        """The type and the object of the next event."""
        while not self._events:
            self._read()
            assert self._events or not self.how_it_ended, self.how_it_ended
        return self._events.popleft()

    def next_name(self) -> str:
        return str(self.next()[1]["metadata"].get("name", ""))

    def has_none_now(self) -> bool:
        """Return whether every event that has come was read."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self._read()
        self.socket.settimeout(TIMEOUT_S)
        return not self._events

    def end(self) -> bytes:
        """Read to the end; return the bytes after the last whole event."""
        while not self.how_it_ended:
            self._read()
        return self._data

    def _read(self) -> None:
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            self.how_it_ended = "reset"
            return
        if not data:
            self.how_it_ended = self.how_it_ended or "closed"
            return
        self._text += data
        self._unchunk()
        self._parse()

    def _unchunk(self) -> None:
        while b"\r\n" in self._text:
            size_text, _, rest = self._text.partition(b"\r\n")
            size = int(size_text, 16)
            if len(rest) < size + 2:
                return
            if not size:
                self.how_it_ended = "ended"
            self._data, self._text = self._data + rest[:size], rest[size + 2 :]

    def _parse(self) -> None:
        while b"\n" in self._data:
            line, _, self._data = self._data.partition(b"\n")
            event = json.loads(line)
            self._events.append((event["type"], event["object"]))
