"""From the bytes of a connection to whole requests, with limits on what is read."""

import dataclasses
import functools
from collections.abc import Callable

import httptools

from harness.apiserver import requesting, statuses

BODY_BYTES_MAX = 3 * 1024 * 1024
HEADER_BYTES_MAX = 64 * 1024


@dataclasses.dataclass(slots=True)
class Incoming:
    """One request as it was read; its token is kept apart, so that it gets into no log."""

    request: requesting.Request
    uri: str
    """As it was sent, with its query."""
    authorization: bytes
    keep_alive: bool


class RequestParser:
    """Parses one connection, which is of no more use after something that is no request, or too large."""

    def __init__(
        self, on_request: Callable[[Incoming], None], on_continue: Callable[[], None]
    ) -> None:
        self._on_request, self._on_continue = on_request, on_continue
        self._parser = httptools.HttpRequestParser(self)
        self.is_reading = False
        """Whether a request has begun and is not whole yet."""
        self._reset()

    def feed(self, data: bytes) -> statuses.StatusError | None:
        """Read; the requests that are whole are handed on before this returns. What is wrong comes back."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return statuses.bad_request("upgrades are not served")
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, statuses.StatusError):
                return error.__context__
            return statuses.bad_request("the request is not HTTP/1.1")
        return None

    def close(self) -> None:
        """Let go of everything: the parser and what it calls back make cycles."""
        del self._parser, self._on_request, self._on_continue

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._authorization = b""
        self._body: list[bytes] = []
        self._body_bytes = 0

    # -------------------------------------------------------------- httptools

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self.is_reading = True

    def on_url(self, url: bytes) -> None:
        """The request's target."""
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._count_header(len(name) + len(value))
        key = _key(name)
        if key == "authorization":
            self._authorization = value
        else:
            self._headers[key] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """All headers are there: a body that is announced as too large is not waited for."""
        if int(self._headers.get("content-length") or 0) > BODY_BYTES_MAX:
            raise statuses.too_large(BODY_BYTES_MAX)
        if self._headers.get("expect", "").lower() == "100-continue":
            self._on_continue()

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        self._body_bytes += len(data)
        if self._body_bytes > BODY_BYTES_MAX:
            raise statuses.too_large(BODY_BYTES_MAX)
        self._body.append(data)

    def on_message_complete(self) -> None:
        """The request is whole."""
        url = httptools.parse_url(self._url)
        request = requesting.Request(
            method=self._parser.get_method().decode(),
            path=(url.path or b"/").decode("latin-1"),
            query=requesting.parse_query((url.query or b"").decode("latin-1")),
            headers=self._headers,
            body=self._body[0] if len(self._body) == 1 else b"".join(self._body),
        )
        incoming = Incoming(
            request,
            uri=self._url.decode("latin-1"),
            authorization=self._authorization,
            keep_alive=self._parser.should_keep_alive(),
        )
        self.is_reading = False
        self._reset()
        self._on_request(incoming)

    def _count_header(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > HEADER_BYTES_MAX:
            raise statuses.StatusError(431, "", "the request's headers are too large")


@functools.lru_cache(maxsize=1024)
def _key(name: bytes) -> str:
    """A header's name in lower case; clients use few."""
    return name.decode("latin-1").lower()
