"""A device of a slice as the value of the variable `device` in a selector."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.checks.observed import observed_slices
from harness.checks.selectors import kubernetes_functions, semantic_versions

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
