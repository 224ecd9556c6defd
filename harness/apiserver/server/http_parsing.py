"""Parsing HTTP/1.1 requests from the bytes of a connection, with limits on their size."""

import dataclasses
import functools
from collections.abc import Callable

import httptools

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors

BODY_BYTES_MAX = 3 * 1024 * 1024
"""Maximum size of a body; 413 when exceeded."""
HEADER_BYTES_MAX = 64 * 1024
"""Maximum size of the URL and all headers together; 431 when exceeded."""
_IGNORED_UPGRADES = frozenset({"h2c"})
"""Upgrades to ignore: Java's HttpClient offers h2c with its first request and accepts HTTP/1.1."""


@dataclasses.dataclass(slots=True)
class Incoming:
    """A parsed request. Its token is not part of `request`, so that it gets into no log."""

    request: request_info.Request
    uri: str
    """The request target as it was sent, with its query."""
    authorization: bytes
    keep_alive: bool
    takes_chunks: bool
    """True if the response may be chunked, which HTTP/1.0 does not allow."""


class RequestParser:
    """Parses the requests of one connection. It cannot be used again after an error."""

    def __init__(
        self, on_request: Callable[[Incoming], None], on_continue: Callable[[], None]
    ) -> None:
        self._on_request, self._on_continue = on_request, on_continue
        self._parser = httptools.HttpRequestParser(self)
        self.is_reading = False
        """True if a request has begun that is not complete yet."""
        self._reset()

    def feed(self, data: bytes) -> status_errors.StatusError | None:
        """Parse data and pass on complete requests; return the error if there is one."""
        try:
            while data:
                try:
                    self._parser.feed_data(data)
                    data = b""
                except httptools.HttpParserUpgrade as pause:
                    data = self._without_upgrade() + data[pause.args[0] :]
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, status_errors.StatusError):
                return error.__context__
            return status_errors.bad_request("the request is not HTTP/1.1")
        return None

    def _without_upgrade(self) -> bytes:
        """Return the head without its upgrade, for a new parser: this one would skip the body."""
        version = self._parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self._parser.get_method(), self._url, version)]
        lines += [
            f"{key}: {value}".encode("latin-1")
            for key, value in self._headers.items()
            if key != "upgrade"
        ]
        if self._authorization is not None:
            lines.append(b"authorization: %b" % self._authorization)
        self._parser = httptools.HttpRequestParser(self)
        self._reset()
        return b"\r\n".join([*lines, b"", b""])

    def close(self) -> None:
        """Drop the parser and the callbacks, which form reference cycles."""
        del self._parser, self._on_request, self._on_continue

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._authorization: bytes | None = None
        self._has_head = False
        self._is_newest = False
        self._is_upgrade = False
        """True if this request is parsed again without its upgrade."""
        self._body: list[bytes] = []
        self._body_bytes = 0

    # -------------------------------------------------------------- httptools

    def on_message_begin(self) -> None:
        self.is_reading = True

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers are ignored (RFC 9110, 6.5.1)."""
        self._count_header(len(name) + len(value))
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
        self._is_upgrade = self._parser.should_upgrade()
        if self._is_upgrade:
            _require_ignored(self._headers.get("upgrade", ""))
            return
        headers = self._headers
        self._is_newest = self._parser.get_http_version() == "1.1"
        if int(headers.get("content-length") or 0) > BODY_BYTES_MAX:
            raise status_errors.too_large(BODY_BYTES_MAX)
        if self._is_newest and headers.get("expect", "").lower() == "100-continue":
            self._on_continue()

    def on_body(self, data: bytes) -> None:
        """Add a part of the body."""
        self._body_bytes += len(data)
        if self._body_bytes > BODY_BYTES_MAX:
            raise status_errors.too_large(BODY_BYTES_MAX)
        self._body.append(data)

    def on_message_complete(self) -> None:
        if self._is_upgrade:
            return
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
            authorization=self._authorization or b"",
            keep_alive=self._parser.should_keep_alive(),
            takes_chunks=self._is_newest,
        )
        self.is_reading = False
        self._reset()
        self._on_request(incoming)

    def _count_header(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > HEADER_BYTES_MAX:
            raise status_errors.StatusError(431, "", "the request's headers are too large")


@functools.lru_cache(1024)
def _key(name: bytes) -> str:
    """Return a header's name in lower case, cached because clients use few names."""
    return name.decode("latin-1").lower()


def _require_ignored(upgrade: str) -> None:
    """Raise StatusError 400 for an upgrade that cannot be ignored."""
    wanted = {token.strip().lower() for token in upgrade.split(",")}
    if not wanted <= _IGNORED_UPGRADES:
        raise status_errors.bad_request("upgrades are not served")
