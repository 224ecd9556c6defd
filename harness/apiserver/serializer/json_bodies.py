"""Decode JSON bodies, with a limit on the number of values.

The limit on a body's size, three megabytes, admits more small values than can be processed in time.
"""

import contextlib
import re
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import status_errors

VALUES_MAX = 20_000
"""Maximum number of commas and opening brackets outside of strings, a bound on the values.

A ResourceSlice with 128 devices of 32 attributes each has about 9,000.
"""
MERGED_VALUES_MAX = 10_000
"""The limit for apply and strategic merge patches, which compare items by their keys."""
LIST_VALUES_MAX = 40_000
"""The limit for a JSON patch: ten thousand operations have about as many."""
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A JSON string, or the beginning of one that is not closed; matches in linear time."""
_skipping_decoder = msgspec.json.Decoder(msgspec.Raw)
"""Checks the syntax without creating Python objects."""
_SEPARATORS = (b",", b"[", b"{")


def decode(body: bytes, *, values_max: int = VALUES_MAX) -> Any:
    """Return the JSON in a body. Raises 413 if it has too many values.

    Also raises msgspec.DecodeError, UnicodeDecodeError and RecursionError.
    """
    _require_few_values(body, values_max)
    return json_codec.decode(body)


def _require_few_values(body: bytes, values_max: int) -> None:
    """Raise 413 if a body has too many values, even if it is malformed.

    Raises RecursionError instead if it is also nested too deep.
    """
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
    """Return whether a body has more values than the limit, not counting separators in strings.

    A value has at most two strings, its key and itself, so more than two per value are too many.
    """
    rest, texts = TEXT.subn(b"", body, count=2 * limit + 1)
    return texts > 2 * limit or _count(rest) > limit


def _count(text: bytes) -> int:
    return sum(map(text.count, _SEPARATORS))
