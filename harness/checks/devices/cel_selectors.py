"""The judge's own evaluation of CEL selectors: asks devices whether they match.

Google's implementation compiles each expression once, and evaluates it; here are the values of
`device` and the functions of Kubernetes that selectors of devices use. A selector with other
functions is not judged. The scheduler under test has an evaluator of its own, with which nothing
here is shared.

The Python binding has no values of types of its own, so a quantity is a map with its exact number,
and a semantic version (semver.org, 2.0.0) a map with its text: equal as maps if they are equal.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from harness.checks.observed import observed_cluster
from harness.model import quantities

VERSION = "version"
"""The only key of the map that stands for a version."""
_NUMBER = r"0|[1-9][0-9]*"
_WORD = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_FORM = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORD}(?:\.{_WORD})*))?(?:\+[0-9a-zA-Z.-]+)?"
)
_LOOSE = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(.*)", re.DOTALL)


class VersionError(ValueError):
    """Text that is not a semantic version."""


def version(text: str) -> dict[str, str]:
    """Return a version as a value of CEL, without its build metadata, which do not count.

    Raises VersionError if the text is not a semantic version.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise VersionError(f"expected a semantic version such as 1.2.3, got {text!r:.60}")
    return {VERSION: text.partition("+")[0]}


def normalized(text: str) -> str:
    """Return a loose version such as `v1.2` in the strict form, `1.2.0`."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        return text
    numbers = (str(int(part or "0")) for part in match.group(1, 2, 3))
    return ".".join(numbers) + match.group(4)


def version_numbers(version: Mapping[str, str]) -> tuple[int, int, int]:
    major, minor, patch = version[VERSION].partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


def compare_versions(left: Mapping[str, str], right: Mapping[str, str]) -> int:
    """Return -1, 0 or 1 by the precedence of two values of `parse`."""
    one, two = _precedence(left), _precedence(right)
    return (one > two) - (one < two)


def _precedence(
    version: Mapping[str, str],
) -> tuple[tuple[int, int, int], bool, list[tuple[bool, int, str]]]:
    """Return a key to sort by: a pre-release comes before its release."""
    words = version[VERSION].partition("-")[2]
    return version_numbers(version), not words, [_word(word) for word in words.split(".") if word]


def _word(text: str) -> tuple[bool, int, str]:
    """Return a key to sort by: numbers come before words, and compare as numbers."""
    return (False, int(text), "") if text.isdigit() else (True, 0, text)


# ----------------------------------------------------------------------------- functions
QUANTITY = "quantity"
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
    return {QUANTITY: str(number)}


def _number(value: _Map) -> Fraction:
    return Fraction(value[QUANTITY])


def _compare(left: _Map, right: _Map) -> int:
    """Compare two quantities or two versions."""
    if QUANTITY in left:
        return (_number(left) > _number(right)) - (_number(left) < _number(right))
    return compare_versions(left, right)


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


def _semver(text: str, normalize: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002 - CEL's own
    return version(normalized(text) if normalize else text)


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
    ("semver", _MAP, [_TYPE.STRING], False, _semver),
    ("semver", _MAP, [_TYPE.STRING, _TYPE.BOOL], False, _semver),
    ("isSemver", _TYPE.BOOL, [_TYPE.STRING], False, _succeeds(_semver)),
    ("isSemver", _TYPE.BOOL, [_TYPE.STRING, _TYPE.BOOL], False, _succeeds(_semver)),
    ("major", _TYPE.INT, [_MAP], True, lambda it: version_numbers(it)[0]),
    ("minor", _TYPE.INT, [_MAP], True, lambda it: version_numbers(it)[1]),
    ("patch", _TYPE.INT, [_MAP], True, lambda it: version_numbers(it)[2]),
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
    overloads: dict[str, list[Any]] = {}
    for number, (name, result, parameters, is_member, function) in enumerate(
        [*_FUNCTIONS, *_INCLUDES]
    ):
        overload = cel.Overload(f"judged_{number}", result, parameters, is_member, function)
        overloads.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, declared) for name, declared in overloads.items()]


# ----------------------------------------------------------------------------- selectors
Value = Any
"""A value of CEL: a bool, int, str, list or dict."""


class UnknownValueError(ValueError):
    """An attribute of a kind that this judge does not know."""


_SCALARS: Mapping[str, Callable[[Any], Value]] = {
    "bool": bool,
    "int": int,
    "string": str,
    "version": version,
}


def _value_of(
    driver: str, device: observed_cluster.Device, domains: frozenset[str]
) -> dict[str, Value]:
    """Return the fields of `device`, with empty maps for those domains that it does not have.

    The scheduler looks up a missing domain as an empty map.

    Raises UnknownValueError, QuantityError or VersionError for what cannot be read.
    """
    capacity = {name: quantity(item.value) for name, item in (device.capacity or {}).items()}
    attributes = {name: _attribute(item) for name, item in (device.attributes or {}).items()}
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
        "attributes": _by_domain(driver, attributes, domains),
        "capacity": _by_domain(driver, capacity, domains),
    }


def _by_domain(
    driver: str, named: Mapping[str, Value], domains: frozenset[str]
) -> dict[str, dict[str, Value]]:
    """Return domain -> identifier -> value; a name without a domain is in that of the driver."""
    found: dict[str, dict[str, Value]] = {domain: {} for domain in domains}
    for name, value in named.items():
        domain, slash, identifier = name.partition("/")
        key = (domain, identifier) if slash else (driver, name)
        found.setdefault(key[0], {})[key[1]] = value
    return found


def _attribute(attribute: Mapping[str, Any]) -> Value:
    kind, value = next(iter(attribute.items()), ("", ()))
    if kind in _SCALARS:
        return _SCALARS[kind](value)
    if kind.removesuffix("s") in _SCALARS:
        return [_SCALARS[kind.removesuffix("s")](item) for item in value]
    raise UnknownValueError(f"expected an attribute of a known kind, got {sorted(attribute)}")


_UNREADABLE = (UnknownValueError, VersionError, quantities.QuantityError)
_LITERAL = re.compile(r"""["']([\w.-]+)["']""")
_SELECTED = re.compile(r"\bdevice\s*\.\s*(?:attributes|capacity)\s*\.\s*(\w+)")
_ASKS_FOR_DOMAIN = re.compile(r"\bin\s+device\s*\.\s*(attributes|capacity)\b")
_MISSING_KEY = "NOT_FOUND"
"""How the binding's message begins if a map has no such key."""


class Selector:
    """A CEL expression."""

    def __init__(self, expression: str) -> None:
        """Compile it, unless it uses what this judge does not know."""
        self._domains = _domains(expression)
        self._program: Any = None
        """None: the expression cannot be judged."""
        try:
            self._program = _environment().compile(expression)
        except RuntimeError:  # the API server accepted it: it has a function that is not known here
            return

    def matches(self, driver: str, device: observed_cluster.Device) -> bool | None:
        """Return whether a device matches; None: that cannot be judged.

        As the scheduler does not allocate a device without an attribute that the expression needs,
        such a device does not match.
        """
        result = self._evaluated(driver, device)
        if result is None:
            return None
        if result.type() == cel.Type.BOOL:
            return bool(result.value())
        is_missing = result.type() == cel.Type.ERROR and _MISSING_KEY in str(result.value())
        return False if is_missing else None

    def fails(self, driver: str, device: observed_cluster.Device) -> bool:
        """Return whether the expression fails on a device; False if that cannot be judged."""
        result = self._evaluated(driver, device)
        return result is not None and result.type() == cel.Type.ERROR

    def _evaluated(self, driver: str, device: observed_cluster.Device) -> Any:
        if self._program is None:
            return None
        try:
            fields = _value_of(driver, device, self._domains)
        except _UNREADABLE:
            return None
        return self._program.eval(data={"device": fields})


@functools.lru_cache(4096)
def selector(expression: str) -> Selector:
    return Selector(expression)


def _domains(expression: str) -> frozenset[str]:
    """Return the texts and names in an expression that may be names of domains.

    Empty if it asks whether a domain is there: a missing one must then be missing.
    """
    if _ASKS_FOR_DOMAIN.search(expression):
        return frozenset()
    return frozenset(_LITERAL.findall(expression) + _SELECTED.findall(expression))


@functools.cache
def _environment() -> Any:
    return cel.NewEnv(
        variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        functions=declarations(),
        extensions=[
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_strings.ExtStrings(),
        ],
    )
