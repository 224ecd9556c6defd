"""Servers in a test: read one HTTP request, send prepared bytes."""

import socket
from typing import Any

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def read_request(connection: socket.socket) -> bytes:
    """One whole request; empty when the client has ended."""
    text = b""
    while b"\r\n\r\n" not in text:
        data = connection.recv(65536)
        if not data:
            return text
        text += data
    head, _, body = text.partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.split(b"\r\n")]
    length = next((int(value) for key, _, value in lines if key.lower() == b"content-length"), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answering(answer: bytes, seen: list[bytes] | None = None, times: int = 1) -> Any:
    def talk(connection: socket.socket) -> None:
        for _ in range(times):
            request = read_request(connection)
            if seen is not None:
                seen.append(request)
            connection.sendall(answer)

    return talk
