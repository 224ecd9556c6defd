"""The check of results: a claim gets what its requests ask for, no more and no less.

The API promises (resource.k8s.io/v1): "ExactCount: This request is for a specific number of
devices. […] All: This request is for all of the matching devices in a pool. At least one device
must exist on the node for the allocation to succeed" (ExactDeviceRequest.allocationMode), and
"FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler"
(DeviceRequest.firstAvailable). Each result names its request
(DeviceRequestAllocationResult.request).

Of requests for all devices, those are demanded that the scheduler must have known on the chosen
node, whatever others have of their capacities and counters: from a node that
has not enough of each of them, the claim gets nothing (kubernetes#140769).

Which alternative of `firstAvailable` is right depends on what the scheduler had chosen for other
claims, which a record does not show: their order is not judged.
"""

import collections
from collections.abc import Iterator, Mapping

import numpy as np

from harness.checks import planned_faults, protocol, request_amounts, verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    device_catalogue,
    node_selectors,
    pool_timelines,
    request_options,
    selected_devices,
)
from harness.checks.taints import attempt_views
from harness.history import plans
from harness.model import quantities
from harness.model.fault_effects import Effect

CHECK = protocol.Check(
    name="requested_results",
    guarantee="N",
    promise="a claim gets as many devices as each of its requests, or one alternative of it, asks for",
    applies=allocation_judging.applies,
    needs=(
        allocation_judging.Questions,
        pool_timelines.PoolTimelines,
        attempt_views.AttemptViews,
    ),
    judge=lambda evidence: check(
        evidence[allocation_judging.Questions],
        evidence[pool_timelines.PoolTimelines],
        evidence[attempt_views.AttemptViews],
        evidence.plan,
    ),
)


def check(
    questions: allocation_judging.Questions,
    timelines: pool_timelines.PoolTimelines,
    views: Mapping[str, attempt_views.View],
    plan: plans.Plan,
) -> verdicts.Answer:
    """Return INVALID with the requests that got something else; NotExamined if there is nothing."""
    findings = questions.ask(lambda grant, *_: allocation_judging.wrong(_problems(grant)))
    if _is_certain(questions, timelines, plan):
        findings = _Judge(questions, timelines, views).with_certain(findings)
    return allocation_judging.result(
        CHECK, questions, findings, good="all requests got what they ask for"
    )


def _is_certain(
    questions: allocation_judging.Questions,
    timelines: pool_timelines.PoolTimelines,
    plan: plans.Plan,
) -> bool:
    """Return whether anything is certain about what the scheduler chose from."""
    is_stale = any(
        planned_faults.effect_of(fault.kind) is Effect.OLD_STATE for fault in plan.faults
    )
    return not (questions.catalogue.gaps or timelines.has_gap or is_stale)


class _Judge:
    """Judges the requests for all devices, by the pools that did not change in the attempt.

    A scheduler chooses from any version of a pool between the one that its slice tracker had
    certainly dealt with when the attempt began, and the allocation. Without the steps of a Python
    scheduler only a pool counts that has not changed since the first list.
    """

    def __init__(
        self,
        questions: allocation_judging.Questions,
        timelines: pool_timelines.PoolTimelines,
        views: Mapping[str, attempt_views.View],
    ) -> None:
        self._made, self._catalogue = questions.made, questions.catalogue
        self._timelines, self._views = timelines, views
        self._known: dict[tuple[int, ...], allocation_judging.Answer] = {}
        """The answers so far, by all that they depend on."""

    def with_certain(self, found: allocation_judging.Findings) -> allocation_judging.Findings:
        concerned = np.array(
            [any(option.count is None for option in _chosen(grant)) for grant in self._made.grants],
            dtype=bool,
        )
        rows = np.flatnonzero(concerned[np.array(self._made.grant_numbers, dtype=np.int64)])
        return found.replaced(rows, self._answer)

    def _answer(self, row: int) -> allocation_judging.Answer:
        number, version = self._made.grant_numbers[row], self._made.versions[row]
        since = attempt_views.slices_of(self._views, self._made.claims[row].uid)
        key = (
            number,
            self._catalogue.epoch(version),
            -1 if since == attempt_views.UNKNOWN else self._timelines.epoch(since + 1),
            self._timelines.epoch(version),
        )
        if key not in self._known:
            grant = self._made.grants[number]
            self._known[key] = allocation_judging.wrong(
                [*_problems(grant), *self._not_all(grant, since, version)]
            )
        return self._known[key]

    def _not_all(self, grant: allocations.Grant, since: int, until: int) -> Iterator[str]:
        names = node_selectors.only_names(grant.allocation.node_selector)
        if names is None or len(names) != 1:
            return
        [node] = names
        for option in _chosen(grant):
            if option.count is not None:
                continue
            got = {result.id for result in grant.results if result.request == option.name}
            missing = set(self._every(node, option, since, until)) - got
            if missing:
                yield (
                    f"request {option.name} asks for all devices and got {_counted(len(got))}, but "
                    f"not {', '.join(sorted(missing))}"
                )

    def _every(
        self, node: str, option: request_options.Option, since: int, until: int
    ) -> Iterator[str]:
        """Yield the devices of a node that match an option in all versions of slice and class."""
        classes = self._catalogue.classes(option.wanted.device_class_name, until)
        if not classes:
            return
        expressions = [*(text for one in classes for text in one), *option.expressions]
        for name in self._timelines.steady(since, until):
            is_clear = self._timelines.tainted_since.get(name, until) >= until
            if is_clear and all(
                item.place.node_name == node
                and all(selected_devices.matches(item, text) for text in expressions)
                and _has_capacity(item, option)
                for item in self._catalogue.devices(name, until)
            ):
                yield name


def _has_capacity(known: device_catalogue.KnownDevice, option: request_options.Option) -> bool:
    """Return whether a device that is not in use could have the amounts that an option asks for."""
    asked = option.wanted.quantities
    if not (asked or known.device.allow_multiple_allocations):
        return True
    try:
        return request_amounts.is_enough(known.device, known.driver, asked)
    except (quantities.QuantityError, request_amounts.AmbiguousNamesError):
        return False


def _chosen(grant: allocations.Grant) -> Iterator[request_options.Option]:
    got = {result.request for result in grant.results}
    for name, option in request_options.by_name(grant.spec).items():
        if name in got:
            yield option


def _problems(grant: allocations.Grant) -> Iterator[str]:
    got = collections.Counter(result.request for result in grant.results)
    for name in got.keys() - request_options.by_name(grant.spec).keys():
        yield f"a result names request {name}, which the claim lacks"
    for request in grant.spec.requests or ():
        chosen = [option for option in request_options.options_of(request) if option.name in got]
        if len(chosen) > 1:
            names = " and ".join(option.name for option in chosen)
            yield f"request {request.name} got devices for {names}, which are alternatives"
        elif not chosen:
            yield f"request {request.name} got no device"
        elif (count := chosen[0].count) not in (None, got[chosen[0].name]):
            yield f"request {chosen[0].name} got {_counted(got[chosen[0].name])} instead of {count}"


def _counted(count: int) -> str:
    return f"{count} device{'s' * (count != 1)}"
