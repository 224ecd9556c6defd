"""The amounts that requests take of the capacities that slices declare.

The API says (resource.k8s.io/v1): "If this field is unset and the device supports multiple
allocations, the default value will be applied to each capacity according to requestPolicy. For the
capacity that has no requestPolicy, default is the full capacity value"
(ExactDeviceRequest.capacity), and that a requested amount is "adjusted upward to the nearest valid
value based on the policy" (CapacityRequirements.requests).
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

import msgspec

from harness.checks.observed import observed_cluster
from harness.model import quantities

Value = TypeVar("Value")


class Taken(msgspec.Struct, frozen=True):
    """The amount that a request takes of a capacity."""

    amounts: frozenset[Fraction]
    """One amount, or none that the policy allows as it is."""
    refusal: str = ""
    """Why the device must not be allocated for the request; empty: nothing is against it."""


class AmbiguousNamesError(ValueError):
    """A request names one capacity both with and without the domain of the driver."""


def of_device(
    device: observed_cluster.Device, driver: str, asked: Mapping[str, str]
) -> dict[str, Taken]:
    """Return what a request takes of each capacity of a device.

    Names are without the domain of the driver. `asked` are the quantities of the request. Raises
    AmbiguousNamesError, or QuantityError for a malformed quantity.
    """
    plainly = {plain_name(name, driver): text for name, text in asked.items()}
    if len(plainly) < len(asked):
        raise AmbiguousNamesError("a request names a capacity with and without its driver")
    return {
        name: _taken(entry, plainly.get(name))
        for name, entry in by_plain_name(device.capacity or {}, driver).items()
    }


def is_enough(device: observed_cluster.Device, driver: str, asked: Mapping[str, str]) -> bool:
    """Return whether a device that is not in use has what a request takes.

    Raises as `of_device` does.
    """
    takes = of_device(device, driver, asked)
    is_refused = any(taken.refusal for taken in takes.values())
    return by_plain_name(asked, driver).keys() <= takes.keys() and not is_refused


def by_plain_name(named: Mapping[str, Value], driver: str) -> dict[str, Value]:
    """Return capacities by their names without the domain of the driver.

    Of two of one name, that with the domain counts, as for attributes.
    """
    ordered = sorted(named.items(), key=lambda item: item[0].startswith(f"{driver}/"))
    return {plain_name(name, driver): value for name, value in ordered}


def plain_name(name: str, driver: str) -> str:
    return name.removeprefix(f"{driver}/")


def _taken(capacity: observed_cluster.Amount, asked: str | None) -> Taken:
    wanted = None if asked is None else quantities.amount(asked)
    policy = capacity.request_policy or observed_cluster.RequestPolicy()
    problems = {
        amount: _problem(amount, capacity, policy) for amount in _amounts(capacity, policy, wanted)
    }
    possible = frozenset(amount for amount, problem in problems.items() if not problem)
    if possible:
        return Taken(possible)
    return Taken(frozenset(problems), next(iter(problems.values())))


def _amounts(
    capacity: observed_cluster.Amount,
    policy: observed_cluster.RequestPolicy,
    wanted: Fraction | None,
) -> Iterator[Fraction]:
    """Yield the amounts that the request may take; one that the policy refuses as it is."""
    if wanted is None:
        yield quantities.amount(capacity.value if policy.default is None else policy.default)
    elif policy.valid_range is not None:
        yield from _in_range(policy.valid_range, wanted)
    else:
        enough = [value for value in _values(policy) if value >= wanted]
        yield min(enough, default=wanted)


def _in_range(valid: observed_cluster.ValidRange, wanted: Fraction) -> Iterator[Fraction]:
    """Yield the next amount of a range: its minimum, or a number of steps above it.

    It is exact. Releases that do not know fractions in ranges count with integers, and take too
    much (kubernetes#140160).
    """
    least = quantities.amount(valid.min or "0")
    step = quantities.amount(valid.step or "0")
    if wanted <= least:
        yield least
    elif step <= 0:
        yield wanted
    else:
        yield least + math.ceil((wanted - least) / step) * step


def _problem(
    amount: Fraction, capacity: observed_cluster.Amount, policy: observed_cluster.RequestPolicy
) -> str:
    if amount < 0:
        return f"takes {quantities.text(amount)}, which is less than nothing"
    if amount > quantities.amount(capacity.value):
        return f"takes {quantities.text(amount)}, of {capacity.value} that there are"
    if policy.default is not None and amount == quantities.amount(policy.default):
        return ""
    most = policy.valid_range.max if policy.valid_range else None
    values = list(_values(policy))
    if (most and amount > quantities.amount(most)) or (values and amount not in values):
        return f"takes {quantities.text(amount)}, which its request policy does not allow"
    return ""


def _values(policy: observed_cluster.RequestPolicy) -> Iterable[Fraction]:
    """Return the valid values; a range comes before them."""
    texts = () if policy.valid_range else policy.valid_values or ()
    return map(quantities.amount, texts)
