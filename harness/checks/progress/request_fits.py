"""Answers whether a device satisfies a request, apart from what other claims have of it.

Selectors of class and request, tolerations, and amounts of capacities. An observer may not know:
the class was not observed, or a selector fails on a device, which ends a scheduler's attempt.
"""

import dataclasses
import functools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import msgspec

from harness.checks import plan_facts, request_amounts, world_states
from harness.checks.devices import selected_devices
from harness.checks.observed import observed_claims, observed_slices
from harness.checks.progress import device_supply
from harness.checks.selectors import evaluation
from harness.model import quantities

_Key: TypeAlias = tuple[object, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """The answer for a request and a device."""

    is_good: bool | None
    """None: that is not known."""
    is_tainted: bool = False
    """Nothing but a taint keeps it from the request, or may do so."""
    least: device_supply.Amounts = dataclasses.field(default_factory=dict)
    most: device_supply.Amounts = dataclasses.field(default_factory=dict)
    """The amounts that the request takes of the capacities; the API may leave two of them open."""
    fails: bool = False
    """A selector fails on the device: a scheduler that looks at it gives up."""


class RequestFits:
    """Answers, each found once."""

    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        """`settings` of the plan say what the class of the run's claims selects."""
        self._granted = state.granted
        self._classes = {
            name: observed_claims.expressions(spec.selectors)
            for name, spec in state.classes.items()
        }
        self._pools: Mapping[str, Any] = settings.get("pools") or {}
        self._known: dict[_Key, dict[bytes, Fit]] = {}

    def of(self, wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
        amounts = tuple(sorted(wanted.quantities.items()))
        key = wanted.kind, str(wanted.tolerations), amounts
        answers = self._known.setdefault(key, {})
        found = answers.get(item.content)
        if found is None:
            found = answers[item.content] = self._fit(wanted, item)
        if found.is_good is None and (wanted.kind, item.id) in self._granted:
            return dataclasses.replace(found, is_good=True, fails=False)
        return found

    def has_selectors(self, wanted: observed_claims.ExactRequest) -> bool:
        return bool(wanted.selectors or self._classes.get(wanted.device_class_name))

    def _fit(self, wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
        is_good, fails = self._is_selected(wanted, item)
        if is_good is False:
            return Fit(is_good=False, fails=fails)
        amounts = _amounts(wanted, item)
        if amounts.is_good is False:
            return amounts
        tolerations = wanted.tolerations or ()
        if not all(
            any(observed_slices.tolerates(one, taint) for one in tolerations)
            for taint in item.taints
        ):
            return Fit(is_good=False, is_tainted=True)
        return dataclasses.replace(amounts, is_good=is_good)

    def _is_selected(
        self, wanted: observed_claims.ExactRequest, item: device_supply.Offered
    ) -> tuple[bool | None, bool]:
        """Return whether the selectors of class and request select a device, and if one fails."""
        of_class = self._classes.get(wanted.device_class_name)
        answers = [] if of_class is not None else [self._is_of_class(wanted, item)]
        if self._classes and of_class is None:
            return False, False  # the class does not exist
        for expression in (*(of_class or ()), *wanted.expressions):
            answer = selected_devices.matches(item.known, expression)
            if answer is False:
                return False, _fails(expression, item.pool[0], item.content)
            answers.append(answer)
        return (False if False in answers else None if None in answers else True), False

    def _is_of_class(
        self, wanted: observed_claims.ExactRequest, item: device_supply.Offered
    ) -> bool | None:
        """Return whether the plan shows that a class that was not observed selects a device."""
        offered = self._pools.get("device_class") or {}
        if wanted.device_class_name != offered.get("name"):
            return None
        owner = self._pools.get("owner")
        own = ((item.known.device.attributes or {}).get("owner") or {}).get("string", "")
        imported = plan_facts.imported(self._pools).get("drivers") or ()
        of_drivers = item.pool[0] in (self._pools.get("driver"), *imported)
        if not of_drivers or (owner and own != owner):
            return False
        return None if offered.get("selectors") else True


@functools.lru_cache(65536)
def _fails(expression: str, driver: str, content: bytes) -> bool:
    device = msgspec.json.decode(content, type=tuple[str, observed_slices.Device, Any])[1]
    return bool(evaluation.selector(expression).failure(driver, device))


def _amounts(wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
    """Return what a request takes of a device; it is not good without the capacity for it."""
    device, driver = item.known.device, item.pool[0]
    if not (item.is_shared or wanted.quantities):
        return Fit(is_good=True)
    try:
        takes = request_amounts.of_device(device, driver, wanted.quantities)
        is_enough = request_amounts.is_enough(device, driver, wanted.quantities)
    except (request_amounts.AmbiguousNamesError, quantities.QuantityError):
        return Fit(is_good=None)
    if not (is_enough and item.is_shared):
        return Fit(is_good=is_enough)
    return Fit(
        is_good=True,
        least={name: min(taken.amounts, default=Fraction(0)) for name, taken in takes.items()},
        most={name: max(taken.amounts, default=Fraction(0)) for name, taken in takes.items()},
    )
