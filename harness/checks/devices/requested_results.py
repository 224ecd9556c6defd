"""The check of results: a claim gets what its requests ask for, no more and no less.

The API promises (resource.k8s.io/v1): "ExactCount: This request is for a specific number of
devices. […] All: This request is for all of the matching devices in a pool. At least one device
must exist on the node for the allocation to succeed" (ExactDeviceRequest.allocationMode), and
"FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler"
(DeviceRequest.firstAvailable). Each result names its request
(DeviceRequestAllocationResult.request).

Of requests for all devices, those are demanded that the scheduler must have known on the chosen
node (`certain_devices`), whatever others have of their capacities and counters: from a node that
has not enough of each of them, the claim gets nothing (kubernetes#140769).

Which alternative of `firstAvailable` is right depends on what the scheduler had chosen for other
claims, which a record does not show: their order is not judged.
"""

import collections
import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from harness.checks import protocol, verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    certain_devices,
    device_catalogue,
    node_selectors,
    pool_timelines,
    request_options,
)
from harness.checks.taints import attempt_views
from harness.history import plans
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

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
    findings = questions.ask(_ask)
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
    is_stale = any(fault_kinds.of(fault.kind).effect is Effect.OLD_STATE for fault in plan.faults)
    return not (questions.catalogue.gaps or timelines.has_gap or is_stale)


class _Judge:
    """Judges the allocations for which it is known what the scheduler chose from."""

    def __init__(
        self,
        questions: allocation_judging.Questions,
        timelines: pool_timelines.PoolTimelines,
        views: Mapping[str, attempt_views.View],
    ) -> None:
        self._made, self._catalogue = questions.made, questions.catalogue
        self._timelines, self._views = timelines, views
        self._certain = certain_devices.CertainDevices(questions.catalogue, timelines)
        self._known: dict[tuple[int, ...], allocation_judging.Answer] = {}
        """The answers so far, by all that they depend on."""

    def with_certain(self, findings: allocation_judging.Findings) -> allocation_judging.Findings:
        concerned = np.array(
            [any(option.count is None for option in _chosen(grant)) for grant in self._made.grants],
            dtype=bool,
        )
        rows = np.flatnonzero(concerned[np.array(self._made.grant_numbers, dtype=np.int64)])
        answers, which = list(findings.answers), findings.which.copy()
        for row in rows.tolist():
            which[row] = len(answers)
            answers.append(self._answer(row))
        return dataclasses.replace(findings, answers=answers, which=which)

    def _answer(self, row: int) -> allocation_judging.Answer:
        number, version = self._made.grant_numbers[row], self._made.versions[row]
        view = self._views.get(self._made.claims[row].uid)
        since = attempt_views.UNKNOWN if view is None else view.slices
        key = (
            number,
            self._catalogue.epoch(version),
            -1 if since == attempt_views.UNKNOWN else self._timelines.epoch(since + 1),
            self._timelines.epoch(version),
        )
        if key not in self._known:
            grant, window = self._made.grants[number], certain_devices.Window(since, version)
            self._known[key] = _wrong([*_problems(grant), *self._not_all(grant, window)])
        return self._known[key]

    def _not_all(self, grant: allocations.Grant, window: certain_devices.Window) -> Iterator[str]:
        names = node_selectors.only_names(grant.allocation.node_selector)
        if names is None or len(names) != 1:
            return
        [node] = names
        for option in _chosen(grant):
            if option.count is not None:
                continue
            got = {result.id for result in grant.results if result.request == option.name}
            missing = set(self._certain.every(node, option, window)) - got
            if missing:
                yield (
                    f"request {option.name} asks for all devices and got {_counted(len(got))}, but "
                    f"not {', '.join(sorted(missing))}"
                )


def _chosen(grant: allocations.Grant) -> Iterator[request_options.Option]:
    got = {result.request for result in grant.results}
    for name, option in request_options.by_name(grant.spec).items():
        if name in got:
            yield option


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Answer:
    del catalogue, version
    return _wrong(list(_problems(grant)))


def _wrong(problems: list[str]) -> allocation_judging.Answer:
    return allocation_judging.Wrong("; ".join(problems), weight=len(problems)) if problems else None


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
