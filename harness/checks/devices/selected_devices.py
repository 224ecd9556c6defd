"""The check of selectors: each allocated device matches those of its request and of its class.

The API promises (resource.k8s.io/v1, ExactDeviceRequest.selectors): "All selectors must be
satisfied for a device to be considered", and (DeviceClassSpec.selectors): "Each selector must be
satisfied by a device which is claimed via this class." The class must exist: "A DeviceClassName is
required" (ExactDeviceRequest.deviceClassName).

A device is wrong if it matches in none of the versions of its slice and of the class up to the
allocation. Selectors that this judge cannot evaluate are not examined.
"""

from harness.checks.devices import allocation_judging, allocations, device_catalogue
from harness.checks.observed import observations, observed_claims
from harness.checks.selectors import evaluation


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Wrong | None:
    options = grant.spec.options
    wrong: list[allocation_judging.Wrong] = []
    doubt: allocation_judging.Unjudged | None = None
    for result in grant.results:
        try:
            problem = _problem(result, options.get(result.request), catalogue, version)
            wrong += [allocation_judging.Wrong(problem)] if problem else []
        except allocation_judging.Unjudged as error:
            doubt = error
    if doubt and not wrong:
        raise doubt
    return allocation_judging.joined(wrong)


def _problem(
    result: observed_claims.AllocationResult,
    option: observed_claims.ExactRequest | None,
    catalogue: device_catalogue.DeviceCatalogue,
    version: int,
) -> str:
    """Return why a device does not match; empty: it does. May raise Unjudged."""
    if option is None:
        raise allocation_judging.Unjudged(allocation_judging.UNKNOWN_REQUEST)
    classes = catalogue.classes(option.device_class_name, version)
    if not classes:
        name = option.device_class_name
        return f"the device class {name} of request {result.request} did not exist"
    doubts, refusal = [], ""
    for device in allocation_judging.known(result.id, catalogue, version):
        for selectors in classes:
            answers = {text: matches(device, text) for text in (*selectors, *option.expressions)}
            refused = [text for text, answer in answers.items() if answer is False]
            unknown = [text for text, answer in answers.items() if answer is None]
            if not refused and not unknown:
                return ""
            doubts += unknown[:1] if not refused else []
            refusal = refused[0] if refused else ""
    if doubts:
        raise allocation_judging.Unjudged(f"this judge cannot evaluate {doubts[0]:.200}")
    return f"{result.id} does not match the selector of request {result.request}: {refusal}"


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
