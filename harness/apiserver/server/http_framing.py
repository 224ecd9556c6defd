"""The bytes around an answer: HTTP/1.1 heads and chunks."""

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

_WARNINGS_CHARACTERS_MAX, _WARNING_CHARACTERS_MAX = 4096, 256
_KEPT_BYTES_MAX = 1024 * 1024


def head(status: int, content_type: str, length: int, more: bytes = b"") -> bytes:
    """The head of an answer of this length; `more` are whole header lines."""
    if content_type:
        more = b"Content-Type: %b\r\n%b" % (content_type.encode(), more)
    return b"HTTP/1.1 %d %b\r\nContent-Length: %d\r\n%b\r\n" % (
        status,
        _REASONS.get(status, b"Status"),
        length,
        more,
    )


def chunked_head(status: int, content_type: str, more: bytes = b"") -> bytes:
    """The head of an answer that goes on."""
    return b"HTTP/1.1 %d OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n%b\r\n" % (
        status,
        content_type.encode(),
        more,
    )


def shortened(warnings: Sequence[str]) -> list[str]:
    """As Kubernetes: each warning once; when all are too long together, what fits of them, each cut."""
    texts = list(dict.fromkeys(warnings))
    if sum(map(len, texts)) <= _WARNINGS_CHARACTERS_MAX:
        return texts
    count = _WARNINGS_CHARACTERS_MAX // _WARNING_CHARACTERS_MAX
    return [text[:_WARNING_CHARACTERS_MAX] for text in texts[:count]]


def warning(text: str) -> bytes:
    """A header line that warns; line ends and other control characters cannot be in it."""
    printable = "".join(character for character in text if character.isprintable())
    quoted = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'Warning: 299 - "{quoted}"\r\n'.encode()


def chunk(data: bytes) -> bytes:
    """One part of an answer that goes on."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event_line(kind: str, body: bytes) -> bytes:
    """An event as a watch shows it."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


class EventFramer:
    """Frames events; what the last watch was sent is not made again for the next one, since most watches see the same."""

    def __init__(self) -> None:
        self._body, self._kind, self._line = b"", "", b""
        self._lines: list[bytes] = []
        self._chunk = b""

    def line(self, kind: str, body: bytes) -> bytes:
        """One event."""
        if body is not self._body or kind != self._kind:
            self._body, self._kind = body, kind
            self._line = event_line(kind, body)
        return self._line

    def chunk(self, lines: list[bytes]) -> bytes:
        """Some events as one chunk; the list is the framer's from now on."""
        if lines == self._lines:  # the same objects mostly, which is quick to see
            return self._chunk
        made = chunk(b"".join(lines))
        if len(made) <= _KEPT_BYTES_MAX:
            self._lines, self._chunk = lines, made
        return made
