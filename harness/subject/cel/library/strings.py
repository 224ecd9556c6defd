"""Functions of strings: the standard ones, and cel-go's extension in its version 2."""

import datetime
import re
from collections.abc import Callable
from typing import Any

from harness.subject.cel.library import conversions
from harness.subject.cel.values import (
    CostLimitError,
    EvaluationError,
    TypeValue,
    no_overload,
    type_name,
)

_CLAUSE = re.compile(r"%(?:(%)|(\.[0-9]{1,9})?(.?))", re.DOTALL)
_PRECISION, _PRECISION_MAX = 6, 1000


def formatted(template: str, values: Any) -> str:
    """Return the template with its clauses replaced; raises EvaluationError as upstream does."""
    if not isinstance(values, list):
        raise no_overload()
    remaining = iter(enumerate(values))

    def replaced(clause: re.Match[str]) -> str:
        if clause[1]:
            return "%"
        if not clause[3]:
            raise EvaluationError("unexpected end of string")
        if clause[3] not in _VERBS:
            raise EvaluationError(
                f'could not parse formatting clause: unrecognized formatting clause "{clause[3]}"'
            )
        position, value = next(remaining, (len(values), _VERBS))
        if value is _VERBS:
            raise EvaluationError(f"index {position} out of range")
        if clause[2] and int(clause[2][1:]) > _PRECISION_MAX:
            raise EvaluationError(f"precision {clause[2][1:]} out of range")
        precision = int(clause[2][1:]) if clause[2] else _PRECISION
        return _VERBS[clause[3]](value, precision)

    return _CLAUSE.sub(replaced, template)


def _shown(value: Any, _: int = 0) -> str:
    match value:
        case None:
            return "null"
        case TypeValue():
            return value.name
        case list():
            return f"[{', '.join(map(_shown, value))}]"
        case dict():
            pairs = sorted((_shown(key), _shown(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
        case bool() | int() | float() | str() | bytes() | datetime.datetime():
            return conversions.text(value)
        case datetime.timedelta():
            return conversions.text(value)
    raise _refused(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
        "lists, types, durations, and timestamps",
        value,
    )


def _refused(expected: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {expected}, was given {type_name(value)}")


def _decimal(value: Any, _: int) -> str:
    if type(value) is bool or not isinstance(value, int):
        raise _refused("decimal clause can only be used on integers", value)
    return str(int(value))


def _fixed(value: Any, precision: int) -> str:
    if not isinstance(value, float):
        raise _refused("fixed-point clause can only be used on doubles", value)
    return f"{value:.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    if not isinstance(value, float):
        raise _refused("scientific clause can only be used on doubles", value)
    return f"{value:.{precision}e}"


def _binary(value: Any, _: int) -> str:
    if not isinstance(value, int):
        raise _refused("only integers and bools can be formatted as binary", value)
    return f"{int(value):b}"


def _octal(value: Any, _: int) -> str:
    if type(value) is bool or not isinstance(value, int):
        raise _refused("octal clause can only be used on integers", value)
    return f"{int(value):o}"


def _hex(value: Any, _: int) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    if type(value) is bool or not isinstance(value, int):
        raise _refused("only integers, byte buffers, and strings can be formatted as hex", value)
    return f"{int(value):x}"


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": _shown,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
}


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
    "format": _of_string(formatted),
    "join": _join,
    "strings.quote": _of_string(_quote),
}
"""The functions by name; `indexOf` is in `lists`, which has it for lists too."""
