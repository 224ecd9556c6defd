"""Functions of Kubernetes' lists and cel-go's sets, and of pairs, for macros with two variables."""

import datetime
import functools
from collections.abc import Callable
from typing import Any

from harness.subject.cel.library import strings
from harness.subject.cel.values import (
    INT_MAX,
    INT_MIN,
    EvaluationError,
    compare,
    equal,
    no_overload,
)

INCLUDES_MAX = 48
"""Longest list that `includes` takes (`ResourceSliceMaxAttributeValuesPerDevice`)."""


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise no_overload()
    return value


def _is_sorted(items: Any) -> bool:
    pairs = zip(_list(items), items[1:], strict=False)
    return all(compare(one, other) <= 0 for one, other in pairs)


def _sum(items: Any) -> Any:
    if not _list(items):
        return 0
    first = items[0]
    if type(first) is bool or not isinstance(first, (int, float, datetime.timedelta)):
        raise no_overload()
    if any(type(item) is not type(first) for item in items):
        raise no_overload()
    total = functools.reduce(lambda one, other: one + other, items)
    if isinstance(total, int) and not INT_MIN <= total <= INT_MAX:
        raise EvaluationError("integer overflow")
    return type(first)(total) if isinstance(total, int) else total


def _extreme(name: str, sign: int) -> Callable[[Any], Any]:
    """Return `min` (sign 1) or `max` (sign -1)."""

    def function(items: Any) -> Any:
        if not _list(items):
            raise EvaluationError(f"{name} called on empty list")
        return functools.reduce(
            lambda one, other: other if compare(one, other) == sign else one, items
        )

    return function


def _index_of(container: Any, item: Any, *start: int) -> int:
    if isinstance(container, str) and isinstance(item, str):
        return strings.index_of(container, item, *start)
    found = (at for at, other in enumerate(_list(container)) if equal(other, item))
    return next(found, -1)


def _last_index_of(container: Any, item: Any, *start: int) -> int:
    if isinstance(container, str) and isinstance(item, str):
        return strings.last_index_of(container, item, *start)
    places = range(len(_list(container)) - 1, -1, -1)
    return next((at for at in places if equal(container[at], item)), -1)


def _includes(container: Any, item: Any) -> bool:
    if not isinstance(container, list):
        return equal(container, item)
    if len(container) > INCLUDES_MAX:
        raise EvaluationError(
            f"'includes' function cannot be applied to lists longer than {INCLUDES_MAX} values"
        )
    return any(equal(other, item) for other in container)


def _contains(items: Any, others: Any) -> bool:
    return all(any(equal(item, other) for item in _list(items)) for other in _list(others))


def _intersects(items: Any, others: Any) -> bool:
    return any(equal(item, other) for item in _list(items) for other in _list(others))


def _pairs(container: Any) -> list[tuple[Any, Any]]:
    """Return the entries that a macro with two variables visits."""
    if isinstance(container, dict):
        return list(container.items())
    return list(enumerate(_list(container)))


def _merged(maps: Any) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for entries in _list(maps):
        for key, value in entries.items():
            if key in merged:
                raise EvaluationError(f"insert failed: key {key} already exists")
            merged[key] = value
    return merged


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", 1),
    "max": _extreme("max", -1),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "includes": _includes,
    "sets.contains": _contains,
    "sets.intersects": _intersects,
    "sets.equivalent": lambda one, other: _contains(one, other) and _contains(other, one),
    "__pairs": _pairs,
    "__first": lambda pair: pair[0],
    "__second": lambda pair: pair[1],
    "__pair": lambda key, value: (key, value),
    "__map": dict,
    "__merged": _merged,
}
"""The functions by name."""
