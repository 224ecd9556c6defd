"""Decode JSON bodies.

`decode` is fast; `parse` also reports repeated keys.
"""

import json
import re
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec


def decode_as_go(body: bytes) -> Any:
    """Return the JSON in a body. Raises ValueError if it is malformed or too deep."""
    try:
        return json_codec.decode(body)
    except RecursionError as error:
        raise ValueError(json_codec.TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return parse(body)  # accepts lone surrogates, which Go replaces


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
