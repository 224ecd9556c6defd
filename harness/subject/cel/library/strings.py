"""Functions of strings: the standard ones, and cel-go's extension in its version 2."""

from collections.abc import Callable
from typing import Any

from harness.subject.cel.library import string_formats
from harness.subject.cel.values import CostLimitError, EvaluationError, no_overload

_LENGTH_MAX = 10_000_000
"""Longest text that `replace` may make; upstream's API refuses such expressions by their cost."""
_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _of_strings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check that the target, and the first argument if there is one, are strings."""

    def checked(*operands: Any) -> Any:
        if not all(isinstance(operand, str) for operand in operands[:2]):
            raise no_overload()
        return function(*operands)

    return checked


def _of_string(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(text: Any, *rest: Any) -> Any:
        if not isinstance(text, str):
            raise no_overload()
        return function(text, *rest)

    return checked


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise EvaluationError(f"index out of range: {at}")
    return text[at : at + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Return the first position of a part at or after `start`, -1 if there is none."""
    if part == "" and start == 0:
        return 0
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def last_index_of(text: str, part: str, start: int | None = None) -> int:
    """Return the last position of a part at or before `start`, -1 if there is none."""
    if start is None:
        return text.rfind(part)
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    if len(text) + count * len(new) > _LENGTH_MAX:
        raise CostLimitError("operation cancelled: actual cost limit exceeded")
    return text.replace(old, new, limit)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator == "":
        parts = list(text)
        return parts if limit < 0 else [*parts[: limit - 1], text[limit - 1 :]][:limit]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if end is not None and not 0 <= stop <= len(text):
        raise EvaluationError(f"index out of range: {stop}")
    if start > stop:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _join(parts: Any, separator: str = "") -> str:
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise no_overload()
    return separator.join(parts)


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(char) if char.isascii() else char for char in text)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(char, char) for char in text) + '"'


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "startsWith": _of_strings(str.startswith),
    "endsWith": _of_strings(str.endswith),
    "contains": _of_strings(str.__contains__),
    "charAt": _of_string(_char_at),
    "lowerAscii": _of_string(_ascii(str.lower)),
    "upperAscii": _of_string(_ascii(str.upper)),
    "replace": _of_strings(_replace),
    "split": _of_strings(_split),
    "substring": _of_string(_substring),
    "trim": _of_string(lambda text: text.strip(_SPACE)),
    "format": _of_string(string_formats.formatted),
    "join": _join,
    "strings.quote": _of_string(_quote),
}
"""The functions by name; `indexOf` is in `lists`, which has it for lists too."""
