"""Bodies in JSON, with a limit on how many values they have: of small values three megabytes have more than can be looked at in time."""

import contextlib
import re
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import status_errors

VALUES_MAX = 20_000
"""Commas and opening brackets; a ResourceSlice with 128 devices of 32 attributes has about 9,000."""
MERGED_VALUES_MAX = 10_000
"""The same for server-side apply and strategic merge patches, which compare items by their keys."""
LIST_VALUES_MAX = 40_000
"""The same for lists, which are JSON patches: ten thousand operations have about as many."""
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A text in JSON, or what begins one; found in time that grows with the length only."""
_skipping_decoder = msgspec.json.Decoder(msgspec.Raw)
"""Makes nothing of what it reads."""
_SEPARATORS = (b",", b"[", b"{")


def decode(body: bytes, *, values_max: int = VALUES_MAX) -> Any:
    """Return the JSON in a body.

    Raises StatusError 413 if it has too many values; msgspec.DecodeError, UnicodeDecodeError and
    RecursionError if it cannot be decoded.
    """
    _require_few_values(body, values_max)
    return json_codec.decode(body)


def _require_few_values(body: bytes, values_max: int) -> None:
    """Raise 413 for a body of any kind with too many values; RecursionError if it is too deep as well."""
    if len(body) <= values_max:
        return
    limit = LIST_VALUES_MAX if body.lstrip().startswith(b"[") else values_max
    if _count(body) > limit and _has_more(body, limit):
        with contextlib.suppress(msgspec.DecodeError):
            _skipping_decoder.decode(body)
        why = f"a body may have at most {limit} values"
        raise status_errors.StatusError(
            413, "RequestEntityTooLarge", f"Request entity too large: {why}"
        )


def _has_more(body: bytes, limit: int) -> bool:
    """Return whether there are more values when commas and brackets in texts do not count; each value has two texts at most."""
    rest, texts = TEXT.subn(b"", body, count=2 * limit + 1)
    return texts > 2 * limit or _count(rest) > limit


def _count(text: bytes) -> int:
    return sum(map(text.count, _SEPARATORS))
