"""Objects made from one template have equal specs: what was found of one is remembered for the next."""

import functools
from collections.abc import Callable, Iterable

import msgspec

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document

SPECS_MAX = 1024
BYTES_MAX = 4096
"""Of one spec: larger ones are looked at each time."""
_ENCODER = msgspec.json.Encoder()


def by_content(
    rule: Callable[[Document], Iterable[Cause]],
) -> Callable[[Document], Iterable[Cause]]:
    """The rule, applied once to each of the specs seen lately."""

    @functools.lru_cache(SPECS_MAX)
    def judged(data: bytes) -> tuple[Cause, ...]:
        return tuple(rule(msgspec.json.decode(data)))

    def remembered(spec: Document) -> Iterable[Cause]:
        data = _ENCODER.encode(spec)
        return judged(data) if len(data) <= BYTES_MAX else rule(spec)

    return remembered
