"""HTTP/1.1 as bytes: requests are parsed; responses, chunks and watch event lines are made."""

import dataclasses
import functools
import http
from collections.abc import Callable

import httptools

from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors

BODY_BYTES_MAX = 3 * 1024 * 1024
"""Maximum size of a body; 413 when exceeded."""


@dataclasses.dataclass(slots=True)
class Incoming:
    """A parsed request. Its token is not part of `request`, so that it gets into no log."""

    request: request_info.Request
    uri: str
    """The request target as it was sent, with its query."""
    authorization: bytes
    keep_alive: bool


class RequestParser:
    """Parses the requests of one connection. It cannot be used again after an error."""

    def __init__(self, on_request: Callable[[Incoming], None]) -> None:
        self._on_request = on_request
        self._parser = httptools.HttpRequestParser(self)
        self._reset()

    def feed(self, data: bytes) -> status_errors.StatusError | None:
        """Parse data and pass on complete requests; return the error if there is one."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if isinstance(error.__context__, status_errors.StatusError):
                return error.__context__
            return status_errors.bad_request("the request is not HTTP/1.1")
        return None

    def close(self) -> None:
        """Drop the parser and the callback, which form reference cycles."""
        del self._parser, self._on_request

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._authorization = b""
        self._has_head = False
        self._body: list[bytes] = []
        self._body_bytes = 0

    # -------------------------------------------------------------- httptools

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, unless it is repeated; trailers are ignored (RFC 9110, 6.5.1)."""
        if self._has_head:
            return
        key = _key(name)
        if key == "authorization":
            self._authorization = value
        else:
            self._headers.setdefault(key, value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        """Reject a request that cannot be served before its body is read."""
        self._has_head = True
        if self._parser.should_upgrade():
            raise status_errors.bad_request("upgrades are not served")
        if int(self._headers.get("content-length") or 0) > BODY_BYTES_MAX:
            raise status_errors.too_large(BODY_BYTES_MAX)

    def on_body(self, data: bytes) -> None:
        """Add a part of the body."""
        self._body_bytes += len(data)
        if self._body_bytes > BODY_BYTES_MAX:
            raise status_errors.too_large(BODY_BYTES_MAX)
        self._body.append(data)

    def on_message_complete(self) -> None:
        url = httptools.parse_url(self._url)
        request = request_info.Request(
            method=self._parser.get_method().decode(),
            path=(url.path or b"/").decode("latin-1"),
            query=request_info.parse_query((url.query or b"").decode("latin-1")),
            headers=self._headers,
            body=self._body[0] if len(self._body) == 1 else b"".join(self._body),
        )
        incoming = Incoming(
            request,
            uri=self._url.decode("latin-1"),
            authorization=self._authorization,
            keep_alive=self._parser.should_keep_alive(),
        )
        self._reset()
        self._on_request(incoming)


@functools.lru_cache(1024)
def _key(name: bytes) -> str:
    """Return a header's name in lower case, cached because clients use few names."""
    return name.decode("latin-1").lower()


# ------------------------------------------------------------------ responses

_REASONS = {int(status): status.phrase.encode() for status in http.HTTPStatus}
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
"""The head of the response to a watch or a long list, which chunks follow."""
LAST_CHUNK = b"0\r\n\r\n"
_WARNINGS_MAX = 16
"""Maximum number of different warnings of a response; some clients accept few headers."""
_KEPT_BYTES_MAX = 1024 * 1024


def response(answer: responses.Response, more: bytes = b"", *, is_head: bool = False) -> bytes:
    """Return a whole response as bytes; `more` are whole header lines."""
    if answer.content_type:
        more = b"Content-Type: %b\r\n%b" % (answer.content_type.encode(), more)
    if answer.retry_after_s:
        more += b"Retry-After: %d\r\n" % answer.retry_after_s
    if answer.warnings:
        more += b"".join(map(_warning, list(dict.fromkeys(answer.warnings))[:_WARNINGS_MAX]))
    return b"HTTP/1.1 %d %b\r\nContent-Length: %d\r\n%b\r\n%b" % (
        answer.status,
        _REASONS.get(answer.status, b"Status"),
        len(answer.body),
        more,
        b"" if is_head else answer.body,
    )


def _warning(text: str) -> bytes:
    """Return a Warning header line; line ends and other control characters are removed."""
    printable = "".join(character for character in text if character.isprintable())
    quoted = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'Warning: 299 - "{quoted}"\r\n'.encode()


def event_line(kind: str, body: bytes) -> bytes:
    """Return a watch event in JSON, with its newline."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


class EventFramer:
    """Encodes event lines and chunks; it reuses the last ones, since most watches send the same."""

    def __init__(self) -> None:
        self._body, self._kind, self._line = b"", "", b""
        self._lines: list[bytes] = []
        self._chunk = b""

    def line(self, kind: str, body: bytes) -> bytes:
        if body is not self._body or kind != self._kind:
            self._body, self._kind = body, kind
            self._line = event_line(kind, body)
        return self._line

    def chunk(self, lines: list[bytes]) -> bytes:
        """Return some lines as one chunk; the caller must not change the list afterwards."""
        if lines == self._lines:  # mostly the same objects, which is quick to compare
            return self._chunk
        data = b"".join(lines)
        made = b"%x\r\n%b\r\n" % (len(data), data)
        if len(made) <= _KEPT_BYTES_MAX:
            self._lines, self._chunk = lines, made
        return made
