"""Responses: the result of every request except a watch."""

from collections.abc import Iterator
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation
from harness.apiserver.errors import status_errors


class Response(msgspec.Struct, frozen=True):
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = negotiation.JSON
    retry_after_s: int = 0
    """`Retry-After` in seconds, 0 for none."""
    warnings: tuple[str, ...] = ()
    """Texts of `Warning` headers."""
    pieces: Iterator[bytes] | None = None
    """The body of a long list, encoded while it is sent; `body` is empty if it is set."""

    def whole(self) -> "Response":
        """Return the response with all of its pieces in `body`."""
        if self.pieces is None:
            return self
        return msgspec.structs.replace(self, body=b"".join(self.pieces), pieces=None)


def failure(error: status_errors.StatusError) -> Response:
    """Return the response to a failed request."""
    retry_after_s = (error.details or {}).get("retryAfterSeconds", 0)
    body = json_codec.encode(error.to_status())
    return Response(error.code, body, retry_after_s=retry_after_s)


def of_document(document: Any, status: int = 200, *, warnings: tuple[str, ...] = ()) -> Response:
    return Response(status, json_codec.encode(document), warnings=warnings)
