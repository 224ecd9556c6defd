"""Conversions between the standard types: `int("1")`, `string(1.5)`."""

import datetime
import math
import re
from collections.abc import Callable
from typing import Any

from harness.cel.syntax_trees import UInt
from harness.subject.cel.library import networks, times
from harness.subject.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    EvaluationError,
    no_overload,
)

_INTEGER = re.compile("[+-]?[0-9]+")
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _int(value: Any) -> int:
    if isinstance(value, datetime.datetime):
        return int(value.timestamp())
    return _whole(value, "int", INT_MIN, INT_MAX)


def _uint(value: Any) -> UInt:
    return UInt(_whole(value, "uint", 0, UINT_MAX))


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if type(value) is bool or not isinstance(value, (int, float, str)):
        raise no_overload()
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value):
            raise EvaluationError(
                f"type conversion error from 'string' to '{name}': "
                f'strconv.ParseInt: parsing "{value}": invalid syntax'
            )
        value = int(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("integer overflow")
    if not least <= int(value) <= most:
        raise EvaluationError("unsigned integer overflow" if name == "uint" else "integer overflow")
    return int(value)


def _double(value: Any) -> float:
    if type(value) is bool or not isinstance(value, (int, float, str)):
        raise no_overload()
    try:
        return float(value)
    except ValueError:
        raise EvaluationError(
            f'type conversion error from string to double: parsing "{value}": invalid syntax'
        ) from None


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if isinstance(value, str) and value in _BOOLS:
        return _BOOLS[value]
    if isinstance(value, str):
        raise EvaluationError(f"type conversion error from 'string' to 'bool': {value!r}")
    raise no_overload()


def _bytes(value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    raise no_overload()


def text(value: Any) -> str:
    """Return a value as a string; raises EvaluationError for a value without a conversion."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(int(value))
        case float():
            return double_text(value)
        case bytes():
            return _decoded(value)
        case datetime.datetime() | datetime.timedelta():
            return times.text(value)
        case networks.Address() | networks.Network():
            return str(value)
    raise no_overload()


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def double_text(value: float) -> str:
    """Return a double as Go's shortest form: 1, 1.5, 1e+100."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else '+'}Inf"
    shown = repr(value).removesuffix(".0")
    return re.sub(r"e([+-])([0-9])$", r"e\g<1>0\2", shown)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "int": _int,
    "uint": _uint,
    "double": _double,
    "bool": _bool,
    "bytes": _bytes,
    "string": text,
}
"""The conversions by name."""
