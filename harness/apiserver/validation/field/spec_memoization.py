"""A cache of validation results by spec: objects made from one template have equal specs."""

import functools
from collections.abc import Callable, Iterable

import msgspec

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document

SPECS_MAX = 1024
"""Number of specs whose results one cache keeps."""
BYTES_MAX = 4096
"""Size in bytes of the largest cached spec; larger ones are validated each time."""
_ENCODER = msgspec.json.Encoder()


def by_content(
    rule: Callable[[Document], Iterable[Cause]],
) -> Callable[[Document], Iterable[Cause]]:
    """Return the rule with a cache of its results for the most recently used specs."""

    @functools.lru_cache(SPECS_MAX)
    def cached(data: bytes) -> tuple[Cause, ...]:
        return tuple(rule(msgspec.json.decode(data)))

    def memoized(spec: Document) -> Iterable[Cause]:
        data = _ENCODER.encode(spec)
        return cached(data) if len(data) <= BYTES_MAX else rule(spec)

    return memoized
