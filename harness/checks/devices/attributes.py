"""The values of attributes, as constraints compare them: sets of values with their types."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from harness.checks.devices import device_catalogue

Values: TypeAlias = frozenset[tuple[str, Any]]
"""Types and values; a single attribute has one value, a list may have several."""


def values_of(known: device_catalogue.KnownDevice, name: str) -> Values | None:
    """Return the values of an attribute by its qualified name; None: the device lacks it.

    An attribute without a domain is in that of the driver.
    """
    attributes = known.device.attributes or {}
    plain = name.removeprefix(f"{known.driver}/")
    attribute = attributes.get(name, attributes.get(plain))
    if not attribute:
        return None
    kind, content = next(iter(attribute.items()))
    if isinstance(content, list):
        return frozenset((kind.removesuffix("s"), item) for item in content)
    return frozenset(((kind, content),))


def have_one_in_common(found: Sequence[Values]) -> bool:
    return not found or bool(frozenset.intersection(*found))


def are_disjoint(found: Sequence[Values]) -> bool:
    """Return whether no two of these have a value in common."""
    return sum(map(len, found)) == len(frozenset().union(*found))
