"""The functions of Kubernetes in selectors, after k8s.io/apiserver/pkg/cel/library.

A function of Python takes and returns plain values only, so a quantity is a map with its number,
and a version a map with its text without build metadata: equal ones are equal maps.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cel_expr_python import cel

from harness.subject.cel import semvers
from harness.subject.objects import quantities

INCLUDED_MAX = 48
"""Longest list that `includes` searches."""
_QUANTITY, _VERSION = "quantity", "version"
_QUANTITY_FORM = re.compile("([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_BOOL, _INT, _DOUBLE, _STRING = cel.Type.BOOL, cel.Type.INT, cel.Type.DOUBLE, cel.Type.STRING
_MAP = cel.Type.Map(cel.Type.DYN, cel.Type.DYN)
_LIST = cel.Type.List(cel.Type.DYN)
_KINDS = (_BOOL, _INT, _STRING, _MAP)
"""The types of attributes: a parameter of any type is given no value."""
_Value = Mapping[str, str]
_Overload = tuple[Any, Sequence[Any], Any]
"""Type of the result, types of the parameters, and the function that is called."""


def quantity(text: str) -> dict[str, str]:
    """Return a quantity as a value. Raises ValueError, in upstream's words."""
    try:
        return _of(Fraction(quantities.parse(text).amount))
    except quantities.QuantityError:
        if _QUANTITY_FORM.fullmatch(text):
            raise ValueError("unable to parse quantity's suffix") from None
        raise ValueError(
            f"quantities must match the regular expression '^{_QUANTITY_FORM.pattern}$'"
        ) from None


def version(text: str, normalize: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002 - CEL's own
    """Return a version as a value. Raises VersionError."""
    parsed = semvers.parse(text, normalize)
    words = ".".join(map(str, parsed.prerelease))
    return {_VERSION: f"{parsed.major}.{parsed.minor}.{parsed.patch}" + f"-{words}" * bool(words)}


def _of(number: Fraction) -> dict[str, str]:
    return {_QUANTITY: str(number)}


def _number(value: _Value) -> Fraction:
    return Fraction(value[_QUANTITY])


def _parsed(value: _Value) -> semvers.Semver:
    return semvers.parse(value[_VERSION])


def _compare(left: _Value, right: _Value) -> int:
    one, two = (_number(it) if _QUANTITY in it else _parsed(it).order() for it in (left, right))
    return int(one > two) - int(one < two)  # type: ignore[operator] # both are of one kind


def _integer(value: _Value) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(_number(value))


def _is_integer(value: _Value) -> bool:
    number = _number(value)
    return number.denominator == 1 and _INT_MIN <= number <= _INT_MAX


def _succeeds(function: Callable[..., object]) -> Callable[..., bool]:
    def tried(*arguments: Any) -> bool:
        try:
            function(*arguments)
        except ValueError:
            return False
        return True

    return tried


def _includes(values: Sequence[Any], item: Any) -> bool:
    if len(values) > INCLUDED_MAX:
        raise ValueError(
            f"'includes' function cannot be applied to lists longer than {INCLUDED_MAX} values"
        )
    return item in values


def _has_all(whole: Sequence[Any], part: Iterable[Any]) -> bool:
    return all(item in whole for item in part)


def _least(values: Sequence[Any]) -> Any:
    if not values:
        raise ValueError("min called on empty list")
    return min(values)


def _most(values: Sequence[Any]) -> Any:
    if not values:
        raise ValueError("max called on empty list")
    return max(values)


_FUNCTIONS: Mapping[str, Sequence[_Overload]] = {
    "quantity": [(_MAP, [_STRING], quantity)],
    "isQuantity": [(_BOOL, [_STRING], _succeeds(quantity))],
    "semver": [(_MAP, [_STRING], version), (_MAP, [_STRING, _BOOL], version)],
    "isSemver": [
        (_BOOL, [_STRING], _succeeds(version)),
        (_BOOL, [_STRING, _BOOL], _succeeds(version)),
    ],
    "sets.contains": [(_BOOL, [_LIST, _LIST], _has_all)],
    "sets.intersects": [(_BOOL, [_LIST, _LIST], lambda a, b: any(x in b for x in a))],
    "sets.equivalent": [(_BOOL, [_LIST, _LIST], lambda a, b: _has_all(a, b) and _has_all(b, a))],
}
_MEMBERS: Mapping[str, Sequence[_Overload]] = {
    "sign": [(_INT, [_MAP], lambda it: (_number(it) > 0) - (_number(it) < 0))],
    "isInteger": [(_BOOL, [_MAP], _is_integer)],
    "asInteger": [(_INT, [_MAP], _integer)],
    "asApproximateFloat": [(_DOUBLE, [_MAP], lambda it: float(_number(it)))],
    "add": [
        (_MAP, [_MAP, _MAP], lambda it, more: _of(_number(it) + _number(more))),
        (_MAP, [_MAP, _INT], lambda it, more: _of(_number(it) + more)),
    ],
    "sub": [
        (_MAP, [_MAP, _MAP], lambda it, less: _of(_number(it) - _number(less))),
        (_MAP, [_MAP, _INT], lambda it, less: _of(_number(it) - less)),
    ],
    "isGreaterThan": [(_BOOL, [_MAP, _MAP], lambda it, other: _compare(it, other) > 0)],
    "isLessThan": [(_BOOL, [_MAP, _MAP], lambda it, other: _compare(it, other) < 0)],
    "compareTo": [(_INT, [_MAP, _MAP], _compare)],
    "major": [(_INT, [_MAP], lambda it: _parsed(it).major)],
    "minor": [(_INT, [_MAP], lambda it: _parsed(it).minor)],
    "patch": [(_INT, [_MAP], lambda it: _parsed(it).patch)],
    "isSorted": [(_BOOL, [_LIST], lambda listed: all(map(operator.le, listed, listed[1:])))],
    "includes": [
        *((_BOOL, [_LIST, kind], _includes) for kind in _KINDS),
        *((_BOOL, [one, other], operator.eq) for one in _KINDS for other in _KINDS),
    ],
    **{
        name: [(cel.Type.DYN, [_LIST], function)]
        for name, function in {"sum": sum, "min": _least, "max": _most}.items()
    },
}


def declarations() -> list[Any]:
    return [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(f"{name}_{number}", result, parameters, is_member, function)
                for number, (result, parameters, function) in enumerate(overloads)
            ],
        )
        for functions, is_member in ((_FUNCTIONS, False), (_MEMBERS, True))
        for name, overloads in functions.items()
    ]
