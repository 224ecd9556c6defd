"""Asks devices whether they match a selector; each expression is compiled once."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from harness.checks.observed import observed_slices
from harness.checks.selectors import kubernetes_functions, semantic_versions
from harness.model import quantities

Value = Any
"""A value of CEL: a bool, int, str, list or dict."""


class UnknownValueError(ValueError):
    """An attribute of a kind that this judge does not know."""


_SCALARS: Mapping[str, Callable[[Any], Value]] = {
    "bool": bool,
    "int": int,
    "string": str,
    "version": semantic_versions.parse,
}


def value_of(driver: str, device: observed_slices.Device) -> dict[str, Value]:
    """Return the fields of `device`.

    Raises UnknownValueError, QuantityError or VersionError for what cannot be read.
    """
    capacity = {
        name: kubernetes_functions.quantity(item.value)
        for name, item in (device.capacity or {}).items()
    }
    attributes = {name: _attribute(item) for name, item in (device.attributes or {}).items()}
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
        "attributes": _by_domain(driver, attributes),
        "capacity": _by_domain(driver, capacity),
    }


def with_domains(device: Mapping[str, Value], domains: frozenset[str]) -> dict[str, Value]:
    """Return the device with empty maps for the domains that it does not have.

    The scheduler looks up a missing domain as an empty map.
    """
    empty: dict[str, Value] = {domain: {} for domain in domains}
    return {
        **device,
        "attributes": empty | device["attributes"],
        "capacity": empty | device["capacity"],
    }


def _by_domain(driver: str, named: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Return domain -> identifier -> value; a name without a domain is in that of the driver."""
    found: dict[str, dict[str, Value]] = {}
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


_UNREADABLE = (
    UnknownValueError,
    semantic_versions.VersionError,
    quantities.QuantityError,
)
_LITERAL = re.compile(r"""["']([\w.-]+)["']""")
_SELECTED = re.compile(r"\bdevice\s*\.\s*(?:attributes|capacity)\s*\.\s*(\w+)")
_ASKS_FOR_DOMAIN = re.compile(r"\bin\s+device\s*\.\s*(attributes|capacity)\b")
_NO_KEY = re.compile(r'Key not found in map : "?([^"]*)')
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

    def matches(self, driver: str, device: observed_slices.Device) -> bool | None:
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

    def failure(self, driver: str, device: observed_slices.Device) -> str:
        """Return the error with which the expression fails on a device, in Kubernetes' words.

        Empty if it does not fail, or if that cannot be judged.
        """
        result = self._evaluated(driver, device)
        if result is None or result.type() != cel.Type.ERROR:
            return ""
        error = str(result.value())
        missing = _NO_KEY.search(error)
        return f"no such key: {missing[1]}" if missing else error.partition(": ")[2] or error

    def _evaluated(self, driver: str, device: observed_slices.Device) -> Any:
        """Return the result for a device; None: there is none."""
        if self._program is None:
            return None
        try:
            fields = value_of(driver, device)
        except _UNREADABLE:
            return None
        known = with_domains(fields, self._domains)
        return self._program.eval(data={"device": known})


@functools.lru_cache(4096)
def selector(expression: str) -> Selector:
    """Return a selector, which is compiled once."""
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
        functions=kubernetes_functions.declarations(),
        extensions=[
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_strings.ExtStrings(),
        ],
    )
