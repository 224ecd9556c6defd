"""The values of CEL as Python objects, their types' names, equality and order.

bool, int, float, str, bytes, list, dict, None, datetime and timedelta stand for themselves; the
classes below for the rest. Kinds are compared exactly, because `1 == True` in Python.
"""

import dataclasses
import datetime
from typing import Any

from harness.cel.syntax_trees import UInt

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class EvaluationError(Exception):
    """A value that cannot be computed; `&&`, `||` and the macros may absorb it, as CEL says."""


class CostLimitError(Exception):
    """The evaluation has cost more than it may; nothing absorbs it."""


@dataclasses.dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, such as the result of `type(1)`."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Optional:
    """An optional value."""

    is_present: bool
    value: Any = None


NONE = Optional(is_present=False)
"""The optional without a value."""


def some(value: Any) -> Optional:
    """Return the optional with a value."""
    return Optional(is_present=True, value=value)


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    datetime.datetime: "google.protobuf.Timestamp",
    datetime.timedelta: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
}
_NUMBERS = (int, UInt, float)
_ORDERED = (bool, str, bytes, datetime.datetime, datetime.timedelta)


def type_name(value: Any) -> str:
    """Return the name of the value's CEL type."""
    if isinstance(value, dict):
        return "map"
    return _NAMES.get(type(value)) or str(value.cel_type)


def go_type(value: Any) -> str:
    """Return the name of the Go type that upstream's messages show."""
    name = type_name(value)
    short = name.rsplit(".", 1)[-1].removesuffix("_type")
    package = "cel" if hasattr(value, "cel_type") else "types"
    return f"{package}.{short[0].upper()}{short[1:]}"


def no_overload() -> EvaluationError:
    return EvaluationError("no such overload")


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal; values of different kinds are not, except numbers."""
    kind = type(left)
    if kind is type(right) and kind not in (list, dict, Optional):
        return bool(left == right)
    if kind in _NUMBERS:
        return type(right) in _NUMBERS and bool(left == right)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            key in right and equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.is_present == right.is_present and equal(left.value, right.value)
    return False


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1; raises EvaluationError for values without an order."""
    kind = type(left)
    if (kind in _ORDERED and kind is type(right)) or (kind in _NUMBERS and type(right) in _NUMBERS):
        return int(left > right) - int(left < right)
    raise no_overload()


def size(value: Any) -> int:
    """Return the size by which upstream charges an operand: length, or 1 for a scalar."""
    if isinstance(value, (str, list, dict, bytes)):
        return len(value)
    return int(getattr(value, "cel_size", 1))
