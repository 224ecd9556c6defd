"""The functions of Kubernetes that selectors of devices use, over values that this judge defines.

The Python binding has no values of types of its own, so a quantity is a map with its exact number,
and a version a map with its text. Both are equal as maps if they are equal.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cel_expr_python import cel

from harness.checks.selectors import semantic_versions
from harness.model import quantities

KEY = "quantity"
"""The only key of the map that stands for a quantity."""
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_TYPE = cel.Type
_MAP = _TYPE.Map(_TYPE.DYN, _TYPE.DYN)
_LIST = _TYPE.List(_TYPE.DYN)
_Map = Mapping[str, str]


def quantity(text: str) -> dict[str, str]:
    """Return a quantity as a value of CEL. Raises QuantityError if it is malformed."""
    return _of(quantities.amount(text))


def _of(number: Fraction) -> dict[str, str]:
    return {KEY: str(number)}


def _number(value: _Map) -> Fraction:
    return Fraction(value[KEY])


def _compare(left: _Map, right: _Map) -> int:
    """Compare two quantities or two versions."""
    if KEY in left:
        return (_number(left) > _number(right)) - (_number(left) < _number(right))
    return semantic_versions.compare(left, right)


def _as_integer(value: _Map) -> int:
    if not _is_integer(value):
        raise ValueError("expected a quantity that is an integer of 64 bits")
    return int(_number(value))


def _is_integer(value: _Map) -> bool:
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


def _version(text: str, normalize: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002 - CEL's own
    return semantic_versions.parse(semantic_versions.normalized(text) if normalize else text)


def _has_all(whole: Sequence[Any], part: Sequence[Any]) -> bool:
    return all(item in whole for item in part)


_Declared = tuple[str, Any, Sequence[Any], bool, Callable[..., object]]
"""Name, type of the result, types of the parameters, whether it is a method, and the function."""
_KINDS = (_TYPE.BOOL, _TYPE.INT, _TYPE.STRING, _MAP)
"""The types of attributes; the binding does not match a value with a parameter of any type."""
_FUNCTIONS: Sequence[_Declared] = (
    ("quantity", _MAP, [_TYPE.STRING], False, quantity),
    ("isQuantity", _TYPE.BOOL, [_TYPE.STRING], False, _succeeds(quantity)),
    ("sign", _TYPE.INT, [_MAP], True, lambda it: (_number(it) > 0) - (_number(it) < 0)),
    ("isInteger", _TYPE.BOOL, [_MAP], True, _is_integer),
    ("asInteger", _TYPE.INT, [_MAP], True, _as_integer),
    ("asApproximateFloat", _TYPE.DOUBLE, [_MAP], True, lambda it: float(_number(it))),
    ("add", _MAP, [_MAP, _MAP], True, lambda it, more: _of(_number(it) + _number(more))),
    ("add", _MAP, [_MAP, _TYPE.INT], True, lambda it, more: _of(_number(it) + more)),
    ("sub", _MAP, [_MAP, _MAP], True, lambda it, less: _of(_number(it) - _number(less))),
    ("sub", _MAP, [_MAP, _TYPE.INT], True, lambda it, less: _of(_number(it) - less)),
    ("isGreaterThan", _TYPE.BOOL, [_MAP, _MAP], True, lambda it, other: _compare(it, other) > 0),
    ("isLessThan", _TYPE.BOOL, [_MAP, _MAP], True, lambda it, other: _compare(it, other) < 0),
    ("compareTo", _TYPE.INT, [_MAP, _MAP], True, _compare),
    ("semver", _MAP, [_TYPE.STRING], False, _version),
    ("semver", _MAP, [_TYPE.STRING, _TYPE.BOOL], False, _version),
    ("isSemver", _TYPE.BOOL, [_TYPE.STRING], False, _succeeds(_version)),
    ("isSemver", _TYPE.BOOL, [_TYPE.STRING, _TYPE.BOOL], False, _succeeds(_version)),
    ("major", _TYPE.INT, [_MAP], True, lambda it: semantic_versions.numbers(it)[0]),
    ("minor", _TYPE.INT, [_MAP], True, lambda it: semantic_versions.numbers(it)[1]),
    ("patch", _TYPE.INT, [_MAP], True, lambda it: semantic_versions.numbers(it)[2]),
    ("sets.contains", _TYPE.BOOL, [_LIST, _LIST], False, _has_all),
    ("sets.intersects", _TYPE.BOOL, [_LIST, _LIST], False, lambda a, b: any(x in b for x in a)),
    (
        "sets.equivalent",
        _TYPE.BOOL,
        [_LIST, _LIST],
        False,
        lambda a, b: _has_all(a, b) and _has_all(b, a),
    ),
)
_INCLUDES: Sequence[_Declared] = [
    *(
        ("includes", _TYPE.BOOL, [_LIST, kind], True, lambda it, item: item in it)
        for kind in _KINDS
    ),
    *(("includes", _TYPE.BOOL, [kind, kind], True, lambda it, item: it == item) for kind in _KINDS),
]
"""A list attribute includes its items, and a single one itself."""


def declarations() -> list[Any]:
    """Return the functions as the binding takes them."""
    overloads: dict[str, list[Any]] = {}
    for number, (name, result, parameters, is_member, function) in enumerate(
        [*_FUNCTIONS, *_INCLUDES]
    ):
        overload = cel.Overload(f"judged_{number}", result, parameters, is_member, function)
        overloads.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, declared) for name, declared in overloads.items()]
