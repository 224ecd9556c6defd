"""Responses to clients, written piece by piece, or cut off as a fault demands."""

from typing import Any

import msgspec
from aiohttp import web

from harness import listening
from harness.fault_proxy import http_headers, statuses

_WITHOUT_BODY = (204, 304)


class ClientResponse(web.StreamResponse):
    """The response to one request of a client; aiohttp, which gets it at last, writes no more."""

    def __init__(self, request: web.BaseRequest) -> None:
        super().__init__()
        self._request, self._writer = request, request.writer
        self.keeps_alive = request.keep_alive
        """True if the client may send another request on the connection."""

    @property
    def keep_alive(self) -> bool:
        return self.keeps_alive

    async def prepare(self, request: web.BaseRequest) -> None:
        """Do nothing: the head has been written."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: the body has been written."""

    async def begin(
        self, status: int, reason: str, headers: http_headers.Headers, *, is_stream: bool = False
    ) -> None:
        """Prepare the head; it is sent with the first piece, with `is_stream` at once."""
        has_body = self._request.method != "HEAD" and status not in _WITHOUT_BODY
        if has_body and "Content-Length" not in headers:
            headers["Transfer-Encoding"] = "chunked"
            self._writer.enable_chunking()
        if not self.keeps_alive:
            headers["Connection"] = "close"
        await self._writer.write_headers(f"HTTP/1.1 {status} {reason}", headers)
        if is_stream:
            self._writer.send_headers()

    async def send_piece(self, piece: bytes) -> None:
        """Send a piece of the body; it goes out before anything else can happen.

        Returns when the client has read most of what it was sent. Raises ConnectionError if the
        client has gone.
        """
        await self._writer.write(piece)

    async def end(self, last: bytes = b"") -> None:
        await self._writer.write_eof(last)

    async def send(
        self, status: int, reason: str, headers: http_headers.Headers, body: bytes
    ) -> None:
        """Send a whole response. Raises ConnectionError if the client has gone."""
        if self._request.method != "HEAD" and status not in _WITHOUT_BODY:
            headers["Content-Length"] = str(len(body))
        await self.begin(status, reason, headers)
        await self.end(b"" if self._request.method == "HEAD" else body)

    async def send_status(self, status: dict[str, Any]) -> None:
        """Send a Status as the response. Raises ConnectionError if the client has gone."""
        headers = http_headers.Headers({"Content-Type": statuses.CONTENT_TYPE})
        if retry_after_s := status.get("details", {}).get("retryAfterSeconds"):
            headers["Retry-After"] = str(retry_after_s)
        await self.send(
            status["code"], status["reason"] or "Failure", headers, msgspec.json.encode(status)
        )

    def close(self) -> None:
        """Close the connection; what was written before still arrives."""
        self.keeps_alive = False
        if self._request.transport is not None:
            self._request.transport.close()

    def reset(self) -> None:
        """Reset the connection, so that the client sees that the response is not whole."""
        self.keeps_alive = False
        if self._request.transport is not None:
            listening.reset(self._request.transport)
