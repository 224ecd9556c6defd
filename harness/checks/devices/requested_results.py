"""The check of results: a claim gets what its requests ask for, no more and no less.

The API promises (resource.k8s.io/v1): "ExactCount: This request is for a specific number of
devices. […] All: This request is for all of the matching devices in a pool. At least one device
must exist on the node for the allocation to succeed" (ExactDeviceRequest.allocationMode), and
"FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler"
(DeviceRequest.firstAvailable). Each result names its request
(DeviceRequestAllocationResult.request).

An earlier alternative that was not taken is no violation: other claims may have had its
devices. Of requests for all devices, those are demanded that are on the chosen node in pools that
never changed: a scheduler must have known them.
"""

import collections
from collections.abc import Iterator

from harness.checks import verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    device_catalogue,
    node_selectors,
    request_options,
    selected_devices,
)
from harness.checks.observed import observations, observed_claims
from harness.history import plans

NAME = "requested_results"
PROMISE = "a claim gets as many devices as each of its requests, or one alternative of it, asks for"
_GUARANTEE = allocation_judging.Guarantee(
    name=NAME,
    promise=PROMISE,
    good="all requests got what they ask for",
)
_STALE = ("stale-list",)
"""Kinds of faults that show a scheduler a list from before."""


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe the guarantee: those with devices of slices do."""
    return observations.SLICES in plan.resources


def check(questions: allocation_judging.Questions, plan: plans.Plan) -> verdicts.Answer:
    """Return INVALID with the requests that got something else; NotExamined if there is nothing."""
    catalogue = questions.catalogue
    is_known = not catalogue.gaps and not any(fault.kind in _STALE for fault in plan.faults)
    steady = frozenset(catalogue.steady_devices()) if is_known else frozenset()
    return allocation_judging.judge(
        _GUARANTEE,
        questions,
        lambda grant, known, version: _ask(grant, _Steady(known, steady, version)),
    )


class _Steady:
    """The devices that a scheduler must have known before a version."""

    def __init__(
        self, catalogue: device_catalogue.DeviceCatalogue, names: frozenset[str], version: int
    ) -> None:
        self._catalogue, self._names, self._version = catalogue, names, version

    def matching(self, node: str, option: request_options.Option) -> Iterator[str]:
        """Yield the devices of a node that certainly match all selectors of an option."""
        classes = self._catalogue.classes(option.wanted.device_class_name, self._version)
        if len(classes) != 1:
            return
        expressions = [*classes[0], *option.expressions]
        for name in self._names:
            known = self._catalogue.devices(name, self._version)
            if len(known) == 1 and _is_plain(known[0]) and known[0].place.node_name == node:
                answers = (selected_devices.matches(known[0], text) for text in expressions)
                if all(answers):
                    yield name


def _is_plain(known: device_catalogue.KnownDevice) -> bool:
    """Return whether a device is free of all that may keep it from a request for all devices."""
    device = known.device
    return not (
        device.allow_multiple_allocations or device.consumes_counters or device.binding_conditions
    )


def _ask(grant: allocations.Grant, steady: _Steady) -> allocation_judging.Answer:
    wrong = list(_problems(grant, steady))
    return allocation_judging.Wrong("; ".join(wrong), weight=len(wrong)) if wrong else None


def _problems(grant: allocations.Grant, steady: _Steady) -> Iterator[str]:
    got: dict[str, list[str]] = collections.defaultdict(list)
    for result in grant.results:
        got[result.request].append(result.id)
    options = request_options.by_name(grant.spec)
    for name in got.keys() - options.keys():
        yield f"a result names request {name}, which the claim lacks"
    for request in grant.spec.requests or ():
        chosen = [option for option in request_options.options_of(request) if option.name in got]
        if len(chosen) > 1:
            names = " and ".join(option.name for option in chosen)
            yield f"request {request.name} got devices for {names}, which are alternatives"
        elif not chosen:
            yield f"request {request.name} got no device"
        else:
            yield from _of_option(chosen[0], got[chosen[0].name], grant.allocation, steady)


def _of_option(
    option: request_options.Option,
    got: list[str],
    allocation: observed_claims.Allocation,
    steady: _Steady,
) -> Iterator[str]:
    if option.count is not None:
        if len(got) != option.count:
            yield f"request {option.name} got {_counted(len(got))} instead of {option.count}"
        return
    names = node_selectors.only_names(allocation.node_selector)
    if names is None or len(names) != 1 or option.capacity:
        return
    missing = set(steady.matching(next(iter(names)), option)).difference(got)
    if missing:
        yield (
            f"request {option.name} asks for all devices and got {_counted(len(got))}, but not "
            f"{', '.join(sorted(missing))}"
        )


def _counted(count: int) -> str:
    return f"{count} device{'s' * (count != 1)}"
