"""The check of selectors: each allocated device matches those of its request and of its class.

The API promises (resource.k8s.io/v1, ExactDeviceRequest.selectors): "All selectors must be
satisfied for a device to be considered", and (DeviceClassSpec.selectors): "Each selector must be
satisfied by a device which is claimed via this class." The class must exist: "A DeviceClassName is
required" (ExactDeviceRequest.deviceClassName).

A device is wrong if it matches in none of the versions of its slice and of the class up to the
allocation. Selectors that this judge cannot evaluate are not examined.
"""

import itertools
from collections.abc import Iterator, Sequence

from harness.checks.devices import (
    allocation_judging,
    allocations,
    device_catalogue,
    request_options,
)
from harness.checks.observed import observations, observed_claims
from harness.checks.selectors import evaluation


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Answer:
    options = request_options.by_name(grant.spec)
    wrong: list[str] = []
    unjudged: allocation_judging.Unjudged | None = None
    for result in grant.results:
        option = options.get(result.request)
        answer = (
            allocation_judging.UNKNOWN_REQUEST
            if option is None
            else _of_device(result, option, catalogue, version)
        )
        if isinstance(answer, allocation_judging.Unjudged):
            unjudged = answer
        elif answer is not None:
            wrong.append(answer)
    if wrong:
        return allocation_judging.Wrong("; ".join(dict.fromkeys(wrong)), weight=len(wrong))
    return unjudged


def _of_device(
    result: observed_claims.AllocationResult,
    option: request_options.Option,
    catalogue: device_catalogue.DeviceCatalogue,
    version: int,
) -> str | allocation_judging.Unjudged | None:
    class_name = option.wanted.device_class_name
    classes = catalogue.classes(class_name, version)
    if not classes:
        return f"the device class {class_name} of request {option.name} did not exist"
    known = catalogue.devices(result.id, version)
    if not known:
        return allocation_judging.UNKNOWN_DEVICE
    answers = [
        _first_refusal(device, [*selectors, *option.expressions])
        for device, selectors in itertools.product(known, classes)
    ]
    if None in answers:
        return None
    unjudged = [answer for answer in answers if isinstance(answer, allocation_judging.Unjudged)]
    if unjudged:
        return unjudged[0]
    return f"{result.id} does not match the selector of request {option.name}: {answers[-1]}"


def _first_refusal(
    device: device_catalogue.KnownDevice, expressions: Sequence[str]
) -> str | allocation_judging.Unjudged | None:
    """Return the first selector that refuses a device; None: it matches all."""
    answers = dict(_answers(device, expressions))
    refused = [expression for expression, answer in answers.items() if answer is False]
    unknown = [expression for expression, answer in answers.items() if answer is None]
    if refused:
        return refused[0]
    if unknown:
        return allocation_judging.Unjudged(f"this judge cannot evaluate {unknown[0]:.200}")
    return None


def _answers(
    device: device_catalogue.KnownDevice, expressions: Sequence[str]
) -> Iterator[tuple[str, bool | None]]:
    for expression in expressions:
        yield expression, matches(device, expression)


def matches(device: device_catalogue.KnownDevice, expression: str) -> bool | None:
    """Return whether a device matches a selector, which is evaluated once; None: not known."""
    if expression not in device.matches:
        selector = evaluation.selector(expression)
        device.matches[expression] = selector.matches(device.driver, device.device)
    return device.matches[expression]


CHECK = allocation_judging.of_each(
    name="selected_devices",
    guarantee="N",
    promise="each allocated device matches the selectors of its request and of its class",
    good="all devices match the selectors of their requests and classes",
    rests_on=(observations.SLICES, observations.CLASSES),
    ask=_ask,
)
