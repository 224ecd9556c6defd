"""Decode JSON bodies, with a limit on the number of values.

The limit on a body's size, three megabytes, admits more small values than can be processed in time.
`decode` is fast; `parse` also reports repeated keys.
"""

import contextlib
import json
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


def decode_as_go(body: bytes, values_max: int = VALUES_MAX) -> Any:
    """Return the JSON in a body. Raises ValueError if it is malformed or too deep, 413."""
    try:
        return decode(body, values_max=values_max)
    except RecursionError as error:
        raise ValueError(json_codec.TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return parse(body)  # accepts lone surrogates, which Go replaces


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


# ------------------------------------------------------------------ repeated keys


class Repeating(dict[str, Any]):
    """A JSON object that repeats keys."""

    repeated: tuple[str, ...] = ()
    """The repeated keys, once for each repetition."""


def parse(text: bytes) -> Any:
    """Return JSON as Go decodes it.

    The last value of a repeated key wins, but objects are merged. Lone surrogates become U+FFFD.
    Raises ValueError if it is malformed.
    """
    whole = text.decode(errors="replace")
    if "\\u" in whole:
        whole = _SURROGATES.sub(_replace_lone, whole)
    return json.loads(whole, object_pairs_hook=_object, parse_constant=_refuse)


_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATES = re.compile(rf"(?:\\\\)++|((?:{_HIGH}{_LOW})++)|(?:{_HIGH}(?!{_LOW})|{_LOW})++")
"""Runs of escaped backslashes, of surrogate pairs (group 1), and of lone surrogates."""
_SURROGATE_CHARACTERS = 6
"""Length of one escaped surrogate, such as `\\ud83d`."""


def _replace_lone(match: re.Match[str]) -> str:
    run = match[0]
    if match[1] or run.endswith("\\"):
        return run
    return "\\ufffd" * (len(run) // _SURROGATE_CHARACTERS)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no value of JSON")  # Python's decoder accepts it


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    merged = Repeating()
    repeated = []
    for name, value in pairs:
        before = merged.get(name)
        if name in merged:
            repeated.append(name)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[name] = {**before, **value} if both else value  # type: ignore[dict-item]
    merged.repeated = tuple(repeated)
    return merged
