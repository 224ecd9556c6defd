"""HTTP/1.1 response heads, chunks and watch event lines as bytes."""

from collections.abc import Sequence

_REASONS = {
    200: b"OK",
    201: b"Created",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    406: b"Not Acceptable",
    408: b"Request Timeout",
    409: b"Conflict",
    410: b"Gone",
    413: b"Request Entity Too Large",
    415: b"Unsupported Media Type",
    422: b"Unprocessable Entity",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    501: b"Not Implemented",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
    505: b"HTTP Version Not Supported",
}

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_WARNINGS_MAX = 16
"""Maximum number of warnings of a response; some clients accept few headers."""
_KEPT_BYTES_MAX = 1024 * 1024


def head(status: int, content_type: str, length: int, more: bytes = b"") -> bytes:
    """Return the head of a response with a body of this length; `more` are whole header lines."""
    if content_type:
        more = b"Content-Type: %b\r\n%b" % (content_type.encode(), more)
    return b"HTTP/1.1 %d %b\r\nContent-Length: %d\r\n%b\r\n" % (
        status,
        _REASONS.get(status, b"Status"),
        length,
        more,
    )


def chunked_head(status: int, content_type: str, more: bytes = b"") -> bytes:
    """Return the head of a chunked response; `more` are whole header lines."""
    return b"HTTP/1.1 %d OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n%b\r\n" % (
        status,
        content_type.encode(),
        more,
    )


def shortened(warnings: Sequence[str]) -> list[str]:
    """Return each of the first warnings once."""
    return list(dict.fromkeys(warnings))[:_WARNINGS_MAX]


def warning(text: str) -> bytes:
    """Return a Warning header line; line ends and other control characters are removed."""
    printable = "".join(character for character in text if character.isprintable())
    quoted = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'Warning: 299 - "{quoted}"\r\n'.encode()


def chunk(data: bytes) -> bytes:
    """Return the data as one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


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
        made = chunk(b"".join(lines))
        if len(made) <= _KEPT_BYTES_MAX:
            self._lines, self._chunk = lines, made
        return made
