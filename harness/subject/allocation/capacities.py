"""Consumable capacity: how much of a device a request takes.

After consumable_capacity.go of k8s.io/dynamic-resource-allocation/structured. A request takes what
it asks for, rounded up by the device's request policy; without a request the policy's default, or
else the whole capacity. Steps are counted in integers, as in release 1.36.
"""

from collections.abc import Mapping
from decimal import Decimal

from harness.model.objects import Object
from harness.subject.allocation import quantities

Amounts = Mapping[str, Decimal]


def consumption(
    driver: str, capacity: Mapping[str, Object], wanted: Mapping[str, str]
) -> dict[str, quantities.Quantity] | None:
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


def _quantity(text: object) -> quantities.Quantity:
    return quantities.parse(str(text))


def _resolved(
    driver: str, capacity: Mapping[str, Object], wanted: Mapping[str, str]
) -> dict[str, quantities.Quantity] | None:
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


def _taken(asked: quantities.Quantity | None, entry: Object) -> quantities.Quantity:
    policy = entry.get("requestPolicy") or {}
    if asked is None:
        return _quantity(policy.get("default") or entry["value"])
    if (policy.get("validRange") or {}).get("min") is not None:
        return _rounded_in_range(asked, policy["validRange"])
    for text in policy.get("validValues") or ():
        if asked.amount <= amount(text):
            return _quantity(text)
    return asked


def _rounded_in_range(asked: quantities.Quantity, valid: Object) -> quantities.Quantity:
    """Return the next quantity of the range: its minimum, or a number of steps above it."""
    least = _quantity(valid["min"])
    if asked.amount < least.amount:
        return least
    if valid.get("step") is None:
        return asked
    step = _quantity(valid["step"])
    steps = -(-(asked.integer() - least.integer()) // max(step.integer(), 1))
    rounded = least.integer() + steps * step.integer()
    return quantities.of_integer(rounded, is_binary=step.is_binary)


def _violates(taken: quantities.Quantity, policy: Object) -> bool:
    """Return whether the policy forbids the rounded quantity."""
    if policy.get("default") is not None and taken.amount == amount(policy["default"]):
        return False
    if policy.get("validRange"):
        return _is_out_of_range(taken, policy["validRange"])
    values = policy.get("validValues")
    return bool(values) and all(taken.amount != amount(text) for text in values or ())


def _is_out_of_range(taken: quantities.Quantity, valid: Object) -> bool:
    if valid.get("max") is not None and taken.amount > amount(valid["max"]):
        return True
    if valid.get("step") is None:
        return False
    least = _quantity(valid.get("min") or "0").integer()
    return (taken.integer() - least) % max(_quantity(valid["step"]).integer(), 1) != 0
