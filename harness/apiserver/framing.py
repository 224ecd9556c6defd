"""The bytes around an answer: HTTP/1.1 heads and chunks."""

_REASONS = {
    200: b"OK",
    201: b"Created",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    409: b"Conflict",
    410: b"Gone",
    413: b"Request Entity Too Large",
    415: b"Unsupported Media Type",
    422: b"Unprocessable Entity",
    500: b"Internal Server Error",
}

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def head(status: int, content_type: str, length: int) -> bytes:
    """The head of an answer of this length."""
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (
        status,
        _REASONS.get(status, b"Status"),
        content_type.encode(),
        length,
    )


def chunked_head(status: int, content_type: str) -> bytes:
    """The head of an answer that goes on."""
    return b"HTTP/1.1 %d OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n" % (
        status,
        content_type.encode(),
    )


def chunk(data: bytes) -> bytes:
    """One part of an answer that goes on."""
    return b"%x\r\n%b\r\n" % (len(data), data)
