"""Answers: what every request but a watch ends with."""

from collections.abc import Iterator
from typing import Any

import msgspec

from harness.apiserver import negotiating, rendering, statuses, storing


class Answer(msgspec.Struct, frozen=True):
    """An answer, whole but for a long list."""

    status: int
    body: bytes
    content_type: str = negotiating.JSON
    retry_after_s: int = 0
    """When to try again; 0 for what need not be said."""
    warnings: tuple[str, ...] = ()
    """What the writer should know although the request succeeded."""
    pieces: Iterator[bytes] | None = None
    """The body of a long list, made as fast as it is sent; `body` is empty then."""

    def whole(self) -> "Answer":
        """The same answer with all of its body."""
        if self.pieces is None:
            return self
        return msgspec.structs.replace(self, body=b"".join(self.pieces), pieces=None)


def failure(error: statuses.StatusError, accept: str = "") -> Answer:
    """The answer of a request that failed, in what its client accepts."""
    retry_after_s = (error.details or {}).get("retryAfterSeconds", 0)
    media = negotiating.media_of_status(accept)
    body = rendering.in_media(media, error.to_status())
    return Answer(error.code, body, media, retry_after_s=retry_after_s)


def of(document: Any, status: int = 200, *, warnings: tuple[str, ...] = ()) -> Answer:
    """A document as an answer."""
    return Answer(status, storing.encode(document), warnings=warnings)
