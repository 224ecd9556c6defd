"""Capacities of devices with their request policies, shared counters and their consumption."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import quantities
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

Quantity = quantities.Quantity
COUNTERS_MAX = 32
"""Counters in one counter set or consumption."""
VALUES_MAX = 10
"""Entries of `validValues` in a request policy."""
_ONE_POLICY = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same '
    "time"
)


def unshared_capacity(capacity: Document, at: str) -> Iterator[Cause]:
    """Reject a request policy on a device without `allowMultipleAllocations`."""
    if capacity.get("requestPolicy") is not None:
        yield field_errors.forbidden(f"{at}.requestPolicy", "allowMultipleAllocations must be true")


def shared_capacity(capacity: Document, at: str) -> Iterator[Cause]:
    """Validate the request policy of a device with `allowMultipleAllocations`."""
    policy, at = capacity.get("requestPolicy"), f"{at}.requestPolicy"
    if policy is None:
        return
    values, bounds = policy.get("validValues") or [], policy.get("validRange")
    if values and bounds is not None:
        yield field_errors.forbidden(at, _ONE_POLICY)
        return
    name = "validValues" if values else "validRange" if bounds is not None else ""
    if name and policy.get("default") is None:
        yield field_errors.required(f"{at}.default", f"required when {name} is defined")
        return
    whole = _quantity(capacity.get("value") or "0")
    if values:
        yield from _values(_quantity(policy["default"]), whole, values, f"{at}.validValues")
    elif bounds is not None:
        yield from _range(_quantity(policy["default"]), whole, bounds, f"{at}.validRange")


def counter_set(counters: Document, at: str) -> Iterator[Cause]:
    """Validate a counter set, whose counters the devices of a pool share."""
    yield from formats.check_required(f"{at}.name", counters.get("name"), formats.label)
    yield from _counters(counters, at)


def counter_consumption(document: Document, at: str) -> Iterator[Cause]:
    """Validate the amounts that a device consumes from a counter set."""
    yield from formats.check_required(f"{at}.counterSet", document.get("counterSet"), formats.label)
    yield from _counters(document, at)


def _counters(document: Document, at: str) -> Iterator[Cause]:
    counters, at = document.get("counters") or {}, f"{at}.counters"
    if not counters:
        yield field_errors.required(at)
    elif len(counters) > COUNTERS_MAX:
        yield field_errors.too_many(at, len(counters), COUNTERS_MAX)
    else:
        for name in counters:
            yield from formats.check(at, name, formats.label)


def _quantity(value: object) -> Quantity:
    return quantities.parse(str(value).strip())


def _values(preset: Quantity, whole: Quantity, values: list[Any], at: str) -> Iterator[Cause]:
    options = [_quantity(value) for value in values]
    for index in range(1, len(options)):
        if options[index - 1].amount > options[index].amount:
            why = "values must be sorted in ascending order"
            yield field_errors.invalid(f"{at}[{index}]", options[index].text, why)
    yield from field_rules.max_items(
        options, at, VALUES_MAX, lambda option, where: _fits(option, whole, where)
    )
    if len(options) <= VALUES_MAX:
        yield from field_rules.duplicates([str(option.integer()) for option in options], at)
    if len(options) > VALUES_MAX or all(option.amount != preset.amount for option in options):
        why = "default value is not valid according to the requestPolicy"
        yield field_errors.invalid(at, preset.text, why)


def _fits(option: Quantity, whole: Quantity, at: str) -> Iterator[Cause]:
    if option.amount > whole.amount:
        why = f"option is larger than capacity value: {whole.text}"
        yield field_errors.invalid(at, option.text, why)


def _range(preset: Quantity, whole: Quantity, bounds: Document, at: str) -> Iterator[Cause]:
    if bounds.get("min") is None:
        yield field_errors.required(f"{at}.min", "required when validRange is defined")
        return
    low = _quantity(bounds["min"])
    if low.amount > whole.amount:
        why = f"min is larger than capacity value: {whole.text}"
        yield field_errors.invalid(f"{at}.min", low.text, why)
    if preset.amount < low.amount:
        yield field_errors.invalid(
            f"{at}.min", preset.text, f"default is less than min: {low.text}"
        )
    high = None if bounds.get("max") is None else _quantity(bounds["max"])
    if high is not None:
        yield from _upper_bound(preset, whole, low, high, f"{at}.max")
    if bounds.get("step") is not None:
        step = _quantity(bounds["step"])
        yield from _step(preset, whole, low, high, step, f"{at}.step")


def _upper_bound(
    preset: Quantity, whole: Quantity, low: Quantity, high: Quantity, at: str
) -> Iterator[Cause]:
    if low.amount > high.amount:
        yield field_errors.invalid(at, low.text, f"min is larger than max: {high.text}")
    if high.amount > whole.amount:
        yield field_errors.invalid(
            at, high.text, f"max is larger than capacity value: {whole.text}"
        )
    if preset.amount > high.amount:
        yield field_errors.invalid(at, preset.text, f"default is more than max: {high.text}")


def _step(
    preset: Quantity, whole: Quantity, low: Quantity, high: Quantity | None, step: Quantity, at: str
) -> Iterator[Cause]:
    if step.amount <= 0:
        yield field_errors.invalid(at, step.text, "must be greater than zero")
        return
    first = low.plus(step)
    if first.amount > whole.amount:
        why = f"one step {first.text} is larger than capacity value: {whole.text}"
        yield field_errors.invalid(at, step.text, why)
    for value in (preset, high):
        if value is not None and (value.integer() - low.integer()) % step.integer():
            why = f"value is not a multiple of a given step ({step.text}) from ({low.text})"
            yield field_errors.invalid(at, value.text, why)
