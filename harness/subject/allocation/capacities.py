"""Consumable capacity: how much of a device a request takes.

After consumable_capacity.go of k8s.io/dynamic-resource-allocation/structured. A request takes what
it asks for, rounded up by the device's request policy; without a request the policy's default, or
else the whole capacity. `Rules` has what releases do in another way.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from harness.model.objects import Object
from harness.subject.objects import quantities


class Rules:
    """How much a request takes of the capacities of a device."""

    def consumption(
        self, driver: str, capacity: Mapping[str, Object], wanted: Mapping[str, str]
    ) -> dict[str, quantities.Quantity] | None:
        """Return what a request takes of each capacity of a device; None: it cannot be satisfied.

        `capacity` is the device's, `wanted` the request's quantities. The use of the device is not
        considered.
        """
        asked = _resolved(driver, capacity, wanted)
        if asked is None:
            return None
        taken = {name: self._taken(asked.get(name), entry) for name, entry in capacity.items()}
        for name, entry in capacity.items():
            policy = entry.get("requestPolicy") or {}
            if not self._is_possible(taken[name]) or self._violates(taken[name], policy):
                return None
        return taken

    def held(self, text: object) -> Decimal:
        """Return what a share takes that an allocation says; less than nothing is nothing."""
        return max(amount(text), Decimal(0))

    def _is_possible(self, taken: quantities.Quantity) -> bool:
        return taken.amount >= 0

    def _taken(self, asked: quantities.Quantity | None, entry: Object) -> quantities.Quantity:
        policy = entry.get("requestPolicy") or {}
        if asked is None:
            return _quantity(policy.get("default") or entry["value"])
        if (policy.get("validRange") or {}).get("min") is not None:
            return self._rounded_in_range(asked, policy["validRange"])
        for text in policy.get("validValues") or ():
            if asked.amount <= amount(text):
                return _quantity(text)
        return asked

    def _rounded_in_range(self, asked: quantities.Quantity, valid: Object) -> quantities.Quantity:
        """Return the next quantity of the range: its minimum, or a number of steps above it."""
        least = _quantity(valid["min"])
        if asked.amount < least.amount:
            return least
        step = _quantity(valid.get("step") or "0")
        return self._stepped(least, step, asked) if step.amount > 0 else asked

    def _stepped(
        self, least: quantities.Quantity, step: quantities.Quantity, asked: quantities.Quantity
    ) -> quantities.Quantity:
        steps = math.ceil(Fraction(asked.amount - least.amount) / Fraction(step.amount))
        rounded = least.amount + steps * step.amount
        if rounded == rounded.to_integral_value():
            return quantities.of_integer(int(rounded), is_binary=step.is_binary)
        return quantities.of_fraction(rounded)

    def _violates(self, taken: quantities.Quantity, policy: Object) -> bool:
        if policy.get("default") is not None and taken.amount == amount(policy["default"]):
            return False
        if policy.get("validRange"):
            return self._is_out_of_range(taken, policy["validRange"])
        values = policy.get("validValues")
        return bool(values) and all(taken.amount != amount(text) for text in values or ())

    def _is_out_of_range(self, taken: quantities.Quantity, valid: Object) -> bool:
        if valid.get("max") is not None and taken.amount > amount(valid["max"]):
            return True
        least, step = _quantity(valid.get("min") or "0"), _quantity(valid.get("step") or "0")
        return step.amount > 0 and self._is_between_steps(taken, least, step)

    def _is_between_steps(
        self, taken: quantities.Quantity, least: quantities.Quantity, step: quantities.Quantity
    ) -> bool:
        steps = Fraction(taken.amount - least.amount) / Fraction(step.amount)
        return steps.denominator != 1


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
