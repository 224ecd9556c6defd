"""Bodies in JSON, with a limit on how many values they have: of small values three megabytes have more than can be looked at in time."""

import contextlib
import re
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import status_errors

VALUES_MAX = 20_000
"""As many commas and opening brackets; a slice with 128 devices of 32 attributes each has about 9,000."""
LIST_VALUES_MAX = 40_000
"""Of a list, which is a JSON patch: ten thousand operations have as many."""
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A text in JSON, or what begins one; found in time that grows with the length only."""
_skipping_decoder = msgspec.json.Decoder(msgspec.Raw)
"""Makes nothing of what it reads."""
_SEPARATORS = (b",", b"[", b"{")


def decode(body: bytes) -> Any:
    """Return the JSON in a body. Raises 413 if it has too many values; msgspec.DecodeError, UnicodeDecodeError and RecursionError."""
    require_few_values(body)
    return json_codec.decode(body)


def require_few_values(body: bytes) -> None:
    """Raise 413 if a body has too many values, whatever it is; RecursionError if it is too deep as well."""
    if len(body) <= VALUES_MAX:
        return
    limit = LIST_VALUES_MAX if body.lstrip().startswith(b"[") else VALUES_MAX
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
