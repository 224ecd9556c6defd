"""Two readers of the same bytes: the server behind a transport without a socket, and h11."""

import asyncio
import dataclasses
from typing import Any, Literal

import h11
import pytest

from harness.apiserver.endpoints import authentication, responses
from harness.apiserver.server import (
    connections,
    http_framing,
    http_parsing,
    request_lifecycle,
    servers,
)

End = Literal["open", "incomplete", "closed", "refused"]
"""More may come; a request has begun; the last request said so; what came is no HTTP."""
_STEPS = 20
_INCOMPLETE_BYTES_MAX = 1 << 20


@dataclasses.dataclass(frozen=True)
class Message:
    """One request as it was understood."""

    method: str
    target: str
    body: bytes


@dataclasses.dataclass(frozen=True)
class Reading:
    """The requests that a reader found in the bytes of a connection."""

    messages: list[Message]
    end: End


@dataclasses.dataclass(frozen=True)
class Conversation:
    """The requests that the server found, and its responses."""

    reading: Reading
    codes: list[int]
    """Of its answers, in order."""
    rest: bytes
    """Its output that is no response; it should be empty."""


# ---------------------------------------------------------------- the server


class _Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_ended = False

    def write(self, data: Any) -> None:
        assert not self.is_ended
        self.written += data

    def write_eof(self) -> None:
        self.is_ended = True

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.is_ended = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_ended

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading

    def get_write_buffer_size(self) -> int:
        return 0


class _Connection(connections.Connection):
    """Remembers which requests it read."""

    def __init__(self, server: servers.Server) -> None:
        super().__init__(server)
        self.messages: list[Message] = []

    def _on_request(self, incoming: http_parsing.Incoming) -> None:
        body = incoming.request.body
        self.messages.append(Message(incoming.request.method, incoming.uri, body))
        super()._on_request(incoming)


def let_everybody_in(server: servers.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server answer every request alike: what is judged here is what it reads."""

    def user(_: bytes) -> authentication.User:
        return authentication.ADMINISTRATOR

    def serve(lifecycle: request_lifecycle.RequestLifecycle, _: authentication.User) -> None:
        lifecycle._respond(responses.Response(200, lifecycle._request.body))

    monkeypatch.setattr(server.authenticator, "user", user)
    monkeypatch.setattr(request_lifecycle.RequestLifecycle, "_serve", serve)


async def converse(server: servers.Server, text: bytes, step: int = 0) -> Conversation:
    """Send these bytes to the server, `size` at a time."""
    transport, connection = _Transport(), _Connection(server)
    connection.connection_made(transport)
    for start in range(0, len(text), step or len(text) or 1):
        connection.data_received(text[start : start + (step or len(text))])
    for _ in range(_STEPS):
        await asyncio.sleep(0)
    is_reading = connection._parser.is_reading
    connection.connection_lost(None)
    codes, rest = _answers(transport.written, connection.messages)
    end: End = "incomplete" if is_reading else "open"
    if transport.is_ended:
        end = "refused" if len(codes) > len(connection.messages) else "closed"
    return Conversation(Reading(connection.messages, end), codes, rest)


def _answers(written: bytes, messages: list[Message]) -> tuple[list[int], bytes]:
    """(the codes of the answers, what is left over)."""
    codes = []
    for method in [*(message.method for message in messages), "GET"]:
        if not written:
            break
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        client.send(h11.EndOfMessage())
        client.receive_data(written)
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            if event in (h11.NEED_DATA, h11.PAUSED):
                return codes, written.removeprefix(http_framing.CONTINUE)
            if isinstance(event, h11.Response):
                codes.append(event.status_code)
        written = client.trailing_data[0]
    return codes, written


# ---------------------------------------------------------------- h11


def read_by_h11(text: bytes) -> Reading:
    """Return what h11 makes of the bytes; empty lines before a request are skipped for it (RFC
    9112, 2.2).
    """
    messages: list[Message] = []
    while text := text.lstrip(b"\r\n"):
        reader = h11.Connection(h11.SERVER, max_incomplete_event_size=_INCOMPLETE_BYTES_MAX)
        reader.receive_data(text)
        try:
            message = _next(reader)
        except h11.RemoteProtocolError:
            return Reading(messages, "refused")
        if message is None:
            return Reading(messages, "incomplete")
        messages.append(message)
        if not _goes_on(reader):
            return Reading(messages, "closed")
        text = reader.trailing_data[0]
    return Reading(messages, "open")


def _next(reader: h11.Connection) -> Message | None:
    method = target = ""
    body = b""
    while True:
        match reader.next_event():
            case h11.Request() as request:
                method, target = request.method.decode("latin-1"), request.target.decode("latin-1")
            case h11.Data() as data:
                body += bytes(data.data)
            case h11.EndOfMessage():
                return Message(method, target, body)
            case _:
                return None


def _goes_on(reader: h11.Connection) -> bool:
    """Answer; return whether there can be another request."""
    headers = [("Content-Length", "0")]
    reader.send(h11.Response(status_code=404, headers=headers))  # with 200, CONNECT would go on
    reader.send(h11.EndOfMessage())
    return reader.our_state is h11.DONE and reader.their_state is h11.DONE
