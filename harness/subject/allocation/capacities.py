"""Consumable capacity: how much of a device a request takes.

After consumable_capacity.go of k8s.io/dynamic-resource-allocation/structured. A request takes what
it asks for, rounded up by the device's request policy; without a request the policy's default, or
else the whole capacity. Steps are counted in integers, as in release 1.36.
"""

import dataclasses
import decimal
import functools
import re
from collections.abc import Mapping
from decimal import Decimal

from harness.model.objects import Object

_BINARY = {f"{letter}i": 2 ** (10 * (index + 1)) for index, letter in enumerate("KMGTPE")}
_DECIMAL = {letter: Decimal(10) ** power for letter, power in (("n", -9), ("u", -6), ("m", -3))} | {
    letter: Decimal(1000) ** index for index, letter in enumerate(("", *"kMGTPE"))
}
_SHAPE = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([eE][+-]?[0-9]{1,3}|[KMGTPE]i|[numkMGTPE]?)"
)


class QuantityError(ValueError):
    """The text is not a quantity."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """An amount and its text."""

    amount: Decimal
    text: str
    is_binary: bool = False
    """The suffix is a power of 1024, such as Ki."""

    def integer(self) -> int:
        """Return the amount, rounded up to an integer (away from zero)."""
        return int(self.amount.to_integral_value(rounding=decimal.ROUND_UP))


@functools.lru_cache(4096)
def parse(text: str) -> Quantity:
    """Return the quantity. Raises QuantityError for a text that is none."""
    match = _SHAPE.fullmatch(text.strip())
    if not match:
        raise QuantityError(f"expected a quantity such as 40Gi, got {text!r}")
    number, suffix = Decimal(match[1]), match[2]
    if suffix in _BINARY:
        return Quantity(number * _BINARY[suffix], text, is_binary=True)
    if suffix in _DECIMAL:
        return Quantity(number * _DECIMAL[suffix], text)
    return Quantity(number.scaleb(int(suffix[1:])), text)


def of_integer(amount: int, *, is_binary: bool) -> Quantity:
    """Return the quantity of an integer, with the largest suffix that leaves an integer."""
    base, suffixes = (1024, ["", *_BINARY]) if is_binary else (1000, ["", *"kMGTPE"])
    rest, power = amount, 0
    while rest and rest % base == 0 and power + 1 < len(suffixes):
        rest, power = rest // base, power + 1
    return Quantity(Decimal(amount), f"{rest}{suffixes[power]}", is_binary)


Amounts = Mapping[str, Decimal]


def consumption(
    driver: str, capacity: Mapping[str, Object], wanted: Mapping[str, str]
) -> dict[str, Quantity] | None:
    """Return what a request takes of each capacity of a device; None: it cannot be satisfied.

    `capacity` is the device's, `wanted` the request's quantities. The use of the device is not
    considered.
    """
    asked = _resolved(driver, capacity, wanted)
    if asked is None:
        return None
    taken = {name: _taken(asked.get(name), entry) for name, entry in capacity.items()}
    for name, entry in capacity.items():
        if taken[name].amount < 0 or _violates(taken[name], entry.get("requestPolicy") or {}):
            return None
    return taken


def amount(text: object) -> Decimal:
    """Return a quantity as a number. Raises QuantityError if it is malformed."""
    return _quantity(text).amount


def _quantity(text: object) -> Quantity:
    return parse(str(text))


def _resolved(
    driver: str, capacity: Mapping[str, Object], wanted: Mapping[str, str]
) -> dict[str, Quantity] | None:
    """Return the wanted quantities by the device's names; None: it lacks one of them.

    A name without a domain is in the domain of the driver.
    """
    asked = {}
    for name, text in wanted.items():
        names = (name, name.removeprefix(f"{driver}/"), f"{driver}/{name}")
        known = next((item for item in names if item in capacity), None)
        if known is None:
            return None
        asked[known] = _quantity(text)
    return asked


def _taken(asked: Quantity | None, entry: Object) -> Quantity:
    policy = entry.get("requestPolicy") or {}
    if asked is None:
        return _quantity(policy.get("default") or entry["value"])
    if (policy.get("validRange") or {}).get("min") is not None:
        return _rounded_in_range(asked, policy["validRange"])
    for text in policy.get("validValues") or ():
        if asked.amount <= amount(text):
            return _quantity(text)
    return asked


def _rounded_in_range(asked: Quantity, valid: Object) -> Quantity:
    """Return the next quantity of the range: its minimum, or a number of steps above it."""
    least = _quantity(valid["min"])
    if asked.amount < least.amount:
        return least
    if valid.get("step") is None:
        return asked
    step = _quantity(valid["step"])
    steps = -(-(asked.integer() - least.integer()) // max(step.integer(), 1))
    rounded = least.integer() + steps * step.integer()
    return of_integer(rounded, is_binary=step.is_binary)


def _violates(taken: Quantity, policy: Object) -> bool:
    """Return whether the policy forbids the rounded quantity."""
    if policy.get("default") is not None and taken.amount == amount(policy["default"]):
        return False
    if policy.get("validRange"):
        return _is_out_of_range(taken, policy["validRange"])
    values = policy.get("validValues")
    return bool(values) and all(taken.amount != amount(text) for text in values or ())


def _is_out_of_range(taken: Quantity, valid: Object) -> bool:
    if valid.get("max") is not None and taken.amount > amount(valid["max"]):
        return True
    if valid.get("step") is None:
        return False
    least = _quantity(valid.get("min") or "0").integer()
    return (taken.integer() - least) % max(_quantity(valid["step"]).integer(), 1) != 0
