"""The function `format` of strings: `"%s is %.2f".format(["pi", 3.14159])`."""

import datetime
import re
from collections.abc import Callable
from typing import Any

from harness.subject.cel.library import conversions
from harness.subject.cel.values import EvaluationError, TypeValue, no_overload, type_name

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
