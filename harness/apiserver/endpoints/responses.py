"""Answers: what every request but a watch ends with."""

from collections.abc import Iterator
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation, response_encoding
from harness.apiserver.errors import status_errors


class Response(msgspec.Struct, frozen=True):
    """An answer, whole but for a long list."""

    status: int
    body: bytes
    content_type: str = negotiation.JSON
    retry_after_s: int = 0
    """When to try again; 0 for what need not be said."""
    warnings: tuple[str, ...] = ()
    """What the writer should know although the request succeeded."""
    pieces: Iterator[bytes] | None = None
    """The body of a long list, made as fast as it is sent; `body` is empty then."""

    def whole(self) -> "Response":
        """The same answer with all of its body."""
        if self.pieces is None:
            return self
        return msgspec.structs.replace(self, body=b"".join(self.pieces), pieces=None)


def failure(error: status_errors.StatusError, accept: str = "") -> Response:
    """The answer of a request that failed, in what its client accepts."""
    retry_after_s = (error.details or {}).get("retryAfterSeconds", 0)
    media = negotiation.media_of_status(accept)
    body = response_encoding.in_media(media, error.to_status())
    return Response(error.code, body, media, retry_after_s=retry_after_s)


def of_document(document: Any, status: int = 200, *, warnings: tuple[str, ...] = ()) -> Response:
    """A document as an answer."""
    return Response(status, json_codec.encode(document), warnings=warnings)
