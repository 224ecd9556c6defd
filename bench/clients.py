"""Minimal API clients: sockets in one selector loop, so that their own cost hardly counts."""

import contextlib
import json
import multiprocessing
import pathlib
import random
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator

from harness.client import kubeconfigs

CLIENTS = 4
"""Number of connections over which `send_all` distributes requests."""
TIMEOUT_S = 60.0
PING_INTERVAL_S = 0.001
"""Time between the requests of `longest_wait_s`."""
_READ_BYTES = 1 << 20


class Client:
    """A client of the server that a kubeconfig names."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        endpoint = kubeconfigs.load(kubeconfig)
        self._address, self._token = (endpoint.host, endpoint.port), endpoint.identity.token
        self._tls = endpoint.context()

    def request(
        self, method: str, path: str, body: bytes = b"", *, accept: str = "application/json"
    ) -> bytes:
        """Return the bytes of a request."""
        patch = "application/merge-patch+json"
        content_type = patch if method == "PATCH" else "application/json"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAccept: {accept}\r\nUser-Agent: bench\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def connect(self) -> socket.socket:
        """Return a new connection."""
        connection = socket.create_connection(self._address, TIMEOUT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return connection
        return self._tls.wrap_socket(connection, server_hostname=self._address[0])

    def get(self, path: str, *, accept: str = "application/json") -> bytes:
        """Return the body of the response to a GET."""
        with self.connect() as connection:
            connection.sendall(self.request("GET", path, accept=accept))
            return read_response(connection)

    def longest_wait_s(self, path: str, *, during: Callable[[], object]) -> float:
        """Return the longest duration of a GET of `path` while another process runs `during`."""
        other = multiprocessing.get_context("fork").Process(target=during)
        waits = [0.0]
        with self.connect() as connection:
            other.start()
            while other.is_alive():
                started = time.perf_counter()
                connection.sendall(self.request("GET", path))
                read_response(connection)
                waits.append(time.perf_counter() - started)
                other.join(PING_INTERVAL_S)
        other.join()
        return max(waits)

    @contextlib.contextmanager
    def watching(self, path: str, count: int) -> Iterator[list[socket.socket]]:
        """Open `count` watches that begin at the current resource version."""
        version = json.loads(self.get(f"{path}?limit=1"))["metadata"]["resourceVersion"]
        opened = [self.connect() for _ in range(count)]
        for connection in opened:
            connection.sendall(self.request("GET", f"{path}?watch=true&resourceVersion={version}"))
            connection.recv(65536)
        try:
            yield opened
        finally:
            for connection in opened:
                connection.close()

    def send_all(
        self,
        requests: Iterable[bytes],
        *,
        readers: Iterable[socket.socket] = (),
        on_event: Callable[[bytes], None] = lambda _: None,
    ) -> list[float]:
        """Send all requests and return their durations in seconds.

        Each of CLIENTS connections has one request in flight. Data from `readers`, the watches, is
        passed to `on_event`.
        """
        waiting, sent, durations = iter(requests), dict[socket.socket, float](), list[float]()
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            for reader in readers:
                selector.register(reader, selectors.EVENT_READ, data=on_event)
            for _ in range(CLIENTS):
                connection = stack.enter_context(self.connect())
                selector.register(connection, selectors.EVENT_READ)
                _send_next(connection, waiting, sent)
            while sent:
                for key, _ in selector.select(TIMEOUT_S):
                    connection = key.fileobj  # type: ignore[assignment]
                    if key.data is not None:
                        key.data(_received(connection))
                        continue
                    read_response(connection)
                    durations.append(time.perf_counter() - sent.pop(connection))
                    _send_next(connection, waiting, sent)
        return durations

    @contextlib.contextmanager
    def idle(self, count: int) -> Iterator[None]:
        """Open connections that send nothing."""
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(self.connect())
            yield

    @contextlib.contextmanager
    def deaf(self, path: str) -> Iterator[None]:
        """Open a watch whose events are never read."""
        with self.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(self.request("GET", f"{path}?watch=true"))
            yield

    def malformed(self, count: int) -> None:
        """Send random bytes as requests, each on its own connection."""
        dice = random.Random(1)
        for _ in range(count):
            with self.connect() as connection, contextlib.suppress(OSError):
                connection.sendall(dice.randbytes(dice.randrange(1, 200)) + b"\r\n\r\n")
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)


def _received(connection: socket.socket) -> bytes:
    """Return what has arrived; the records of TLS that follow each other at once are one."""
    data = connection.recv(_READ_BYTES)
    while isinstance(connection, ssl.SSLSocket) and connection.pending():
        data += connection.recv(_READ_BYTES)
    return data


def _send_next(
    connection: socket.socket, waiting: Iterator[bytes], sent: dict[socket.socket, float]
) -> None:
    request = next(waiting, None)
    if request is not None:
        sent[connection] = time.perf_counter()
        connection.sendall(request)


def read_response(connection: socket.socket) -> bytes:
    """Return the body of one response. Raises RuntimeError if its status is not 2xx."""
    text = connection.recv(_READ_BYTES)
    while b"\r\n\r\n" not in text:
        text += connection.recv(_READ_BYTES)
    head, _, body = text.partition(b"\r\n\r\n")
    if head[9:10] != b"2":
        raise RuntimeError(f"expected a status of 2xx, got {text[:300]!r}")
    if b"chunked" in head:
        return _read_chunks(connection, body)
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    parts, size = [body], len(body)
    while size < length:
        parts.append(connection.recv(_READ_BYTES))
        size += len(parts[-1])
    return b"".join(parts)


def _read_chunks(connection: socket.socket, text: bytes) -> bytes:
    received = bytearray(text)
    while not received.endswith(b"\r\n0\r\n\r\n"):  # JSON contains no line ends
        received += connection.recv(_READ_BYTES)
    lines = bytes(received).split(b"\r\n")
    return b"".join(lines[1::2])
