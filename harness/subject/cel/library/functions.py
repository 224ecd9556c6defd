"""The functions of CEL's standard library, and the table of all functions by name.

A function gets values and returns one; it raises EvaluationError for operands without an overload.
"""

import math
from collections.abc import Callable
from typing import Any

from harness.cel.syntax_trees import UInt
from harness.subject.cel.library import (
    conversions,
    lists,
    named_formats,
    networks,
    patterns,
    quantities,
    semvers,
    strings,
    times,
    urls,
)
from harness.subject.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    EvaluationError,
    Optional,
    TypeValue,
    compare,
    equal,
    no_overload,
    some,
    type_name,
)

_NUMERIC = (int, UInt, float)
_EMPTY = (False, 0, 0.0, "", b"", None)


def index(container: Any, key: Any) -> Any:
    """Return an element of a map or list; raises EvaluationError if it is missing."""
    if isinstance(container, dict):
        try:
            return container[key]
        except (KeyError, TypeError):
            raise EvaluationError(f"no such key: {key}") from None
    if isinstance(container, list) and type(key) in _NUMERIC and _is_whole(key):
        if not 0 <= key < len(container):
            raise EvaluationError(f"index out of bounds: {key}")
        return container[int(key)]
    raise no_overload()


def _is_whole(number: float) -> bool:
    return not isinstance(number, float) or number.is_integer()


def optional_index(value: Optional, key: Any) -> Optional:
    if not value.is_present:
        return NONE
    if not isinstance(value.value, (dict, list)):
        raise no_overload()
    is_odd = isinstance(value.value, list) and type(key) not in _NUMERIC
    if is_odd or isinstance(key, (dict, list)):
        raise no_overload()
    try:
        return some(index(value.value, key))
    except EvaluationError:
        return NONE


def _bounded(kind: type, value: Any) -> Any:
    if kind is float:
        return value
    least, most = (0, UINT_MAX) if kind is UInt else (INT_MIN, INT_MAX)
    if not least <= value <= most:
        raise EvaluationError("unsigned integer overflow" if kind is UInt else "integer overflow")
    return kind(value)


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def function(left: Any, right: Any) -> Any:
        kind = type(left)
        if kind not in _NUMERIC or kind is not type(right):
            raise no_overload()
        return _bounded(kind, operation(left, right))

    return function


def _add(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and kind in (str, bytes, list):
        return left + right
    if kind is type(right) and kind in _NUMERIC:
        return _bounded(kind, left + right)
    return times.add(left, right)


def _subtract(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and kind in _NUMERIC:
        return _bounded(kind, left - right)
    return times.subtract(left, right)


def _divide(left: Any, right: Any) -> Any:
    if type(left) is float and type(right) is float:
        if right == 0:
            return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
        return left / right
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: Any, right: Any) -> Any:
    if type(left) is float:
        raise no_overload()
    if right == 0:
        raise EvaluationError("modulus by zero")
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _negate(value: Any) -> Any:
    if type(value) not in (int, float):
        raise no_overload()
    return _bounded(type(value), -value)


def _not(value: Any) -> bool:
    if type(value) is not bool:
        raise no_overload()
    return not value


def _contained(item: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return item in container
    if isinstance(container, list):
        return any(equal(item, other) for other in container)
    raise no_overload()


def _length(value: Any) -> int:
    if not isinstance(value, (str, bytes, list, dict)):
        raise no_overload()
    return len(value)


def _ordered(left: Any, right: Any) -> int:
    """Compare two quantities or two versions."""
    if type(left) is quantities.Quantity and type(right) is quantities.Quantity:
        return (left.nanos > right.nanos) - (left.nanos < right.nanos)
    if type(left) is semvers.Semver and type(right) is semvers.Semver:
        one, other = left.order(), right.order()
        return (one > other) - (one < other)
    raise no_overload()


def _member(name: str) -> Callable[[Any], Any]:
    """Return a function that reads a version's part."""

    def function(value: Any) -> Any:
        if type(value) is not semvers.Semver:
            raise no_overload()
        return getattr(value, name)

    return function


def _of_quantity(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(value: Any, *rest: Any) -> Any:
        if type(value) is not quantities.Quantity:
            raise no_overload()
        return function(value, *rest)

    return checked


def _optional_of_non_zero(value: Any) -> Optional:
    is_empty = value in ([], {}) if isinstance(value, (list, dict)) else value in _EMPTY
    return NONE if is_empty else some(value)


def _optional_value(optional: Optional) -> Any:
    if not optional.is_present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _arithmetic(lambda left, right: left * right),
    "_/_": _arithmetic(_divide),
    "_%_": _arithmetic(_modulo),
    "-_": _negate,
    "!_": _not,
    "@in": _contained,
    "size": _length,
    "type": lambda value: TypeValue(type_name(value)),
    "dyn": lambda value: value,
    "optional.of": some,
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _optional_of_non_zero,
    "hasValue": lambda optional: optional.is_present,
    "value": _optional_value,
    "quantity": quantities.parse,
    "isQuantity": quantities.is_quantity,
    "semver": semvers.parse,
    "isSemver": semvers.is_semver,
    **{name: _of_quantity(function) for name, function in quantities.MEMBERS.items()},
    **{name: _member(name) for name in ("major", "minor", "patch")},
    "compareTo": _ordered,
    "isGreaterThan": lambda left, right: _ordered(left, right) > 0,
    "isLessThan": lambda left, right: _ordered(left, right) < 0,
    **conversions.FUNCTIONS,
    **times.FUNCTIONS,
    **strings.FUNCTIONS,
    **lists.FUNCTIONS,
    **patterns.FUNCTIONS,
    **urls.FUNCTIONS,
    **networks.FUNCTIONS,
    **named_formats.FUNCTIONS,
}
"""All functions but the operators that `programs` evaluates itself."""
