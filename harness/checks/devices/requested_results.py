"""The check of results: a claim gets what its requests ask for, no more and no less.

The API promises (resource.k8s.io/v1): "ExactCount: This request is for a specific number of
devices. […] All: This request is for all of the matching devices in a pool. At least one device
must exist on the node for the allocation to succeed" (ExactDeviceRequest.allocationMode), and
"FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler"
(DeviceRequest.firstAvailable). Each result names its request
(DeviceRequestAllocationResult.request).

Of requests for all devices, those are demanded that the scheduler must have known on the chosen
node (`certain_devices`), whatever others have of their capacities and counters: from a node that
has not enough of each of them, the claim gets nothing (kubernetes#140769). An earlier alternative
that was not taken is wrong only if the claims of the run could not have used up its devices: see the
end of this text.

The API promises (resource.k8s.io/v1, DeviceRequest.firstAvailable): the scheduler "tries to satisfy
them in the order in which they are listed here. So if there are two entries in the list, the
scheduler will only check the second one if it determines that the first one can not be used."

A record does not show which devices a scheduler had chosen for other claims and not written yet, or
what it had not heard of. Therefore an earlier alternative is demanded only if the chosen node had
more devices for it than all claims together can have taken (`device_demand`). This is so for the
first allocations of a run, in which an order that is wrong in general shows. Where claims compete,
the order is not judged. Claims with constraints are left out, and so
are alternatives for all devices or for capacities.
"""

import collections
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.checks import object_plans, protocol, verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    certain_devices,
    device_catalogue,
    device_demand,
    node_selectors,
    pool_timelines,
    request_options,
)
from harness.checks.taints import attempt_views
from harness.history import plans
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

RESULTS_MAX = 32
"""Devices that a claim can have; the API's limit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """An alternative that was chosen, and those before it."""

    chosen: request_options.Option
    better: Sequence[request_options.Option]


def later_choices(grant: allocations.Grant) -> Iterator[Choice]:
    """Yield the requests of a claim that got another alternative than the first one."""
    got = {result.request for result in grant.results}
    for request in grant.spec.requests or ():
        options = list(request_options.options_of(request))
        chosen = [index for index, option in enumerate(options) if option.name in got]
        if chosen and chosen[0]:
            yield Choice(options[chosen[0]], options[: chosen[0]])


def problems(
    grant: allocations.Grant,
    node: str,
    certain: certain_devices.CertainDevices,
    window: certain_devices.Window,
    taken: float,
) -> Iterator[str]:
    """Yield the alternatives that could certainly be used, and were not.

    `taken` is the largest number of devices that may have been taken by claims, this one too.
    """
    own = device_demand.most(grant.spec.requests or ())
    if grant.spec.constraints or own > RESULTS_MAX:
        return
    for choice in later_choices(grant):
        for option in choice.better:
            there = _count(option, node, certain, window)
            if there >= max(taken, own):
                yield (
                    f"request {choice.chosen.request} got devices for {choice.chosen.name}, "
                    f"although {node} had {there} for {option.name}, which comes before it, and "
                    f"all claims together could have {max(taken, own):.0f} of them at most"
                )
                break


def _count(
    option: request_options.Option,
    node: str,
    certain: certain_devices.CertainDevices,
    window: certain_devices.Window,
) -> int:
    """Return how many devices a node certainly had for an alternative."""
    if option.count is None or option.wanted.quantities:
        return 0
    return sum(1 for _ in certain.matching(node, option, window))


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
        judge = _Judge(questions, timelines, views, has_order=_has_order(plan))
        findings = judge.with_certain(findings)
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


def _has_order(plan: plans.Plan) -> bool:
    """Return whether the order of alternatives is judged.

    Faults, rules that taint devices, and claims for extended resources, which a scheduler keeps in
    its memory at first, may all be reasons for a later alternative.
    """
    changes = (plan.settings.get("pools") or {}).get("changes") or ()
    has_taints = any(change.get("kind") == "taint" for change in changes)
    is_extended = bool((plan.settings.get("claim") or {}).get("extended"))
    is_extended |= bool(object_plans.extended_resources(plan.settings))
    return not (plan.faults or has_taints or is_extended)


class _Judge:
    """Judges the allocations for which it counts what the scheduler chose from."""

    def __init__(
        self,
        questions: allocation_judging.Questions,
        timelines: pool_timelines.PoolTimelines,
        views: Mapping[str, attempt_views.View],
        *,
        has_order: bool,
    ) -> None:
        self._made, self._catalogue = questions.made, questions.catalogue
        self._demand, self._timelines, self._views = questions.demand, timelines, views
        self._has_order = has_order
        self._certain = certain_devices.CertainDevices(questions.catalogue, timelines)
        self._known: dict[tuple[object, ...], allocation_judging.Answer] = {}
        """The answers so far, by all that they depend on."""

    def with_certain(self, findings: allocation_judging.Findings) -> allocation_judging.Findings:
        """Return the findings, with more for the allocations to which more applies."""
        concerned = np.array([self._is_concerned(grant) for grant in self._made.grants], dtype=bool)
        rows = np.flatnonzero(concerned[np.array(self._made.grant_numbers, dtype=np.int64)])
        answers, which = list(findings.answers), findings.which.copy()
        for row in rows.tolist():
            which[row] = len(answers)
            answers.append(self._answer(row))
        return dataclasses.replace(findings, answers=answers, which=which)

    def _is_concerned(self, grant: allocations.Grant) -> bool:
        asks_for_all = any(option.count is None for option in _chosen(grant))
        return asks_for_all or any(later_choices(grant))

    def _answer(self, row: int) -> allocation_judging.Answer:
        number, version = self._made.grant_numbers[row], self._made.versions[row]
        view = self._views.get(self._made.claims[row].uid)
        since = attempt_views.UNKNOWN if view is None else view.slices
        taken = self._demand.until(version) if self._has_order else math.inf
        key = (
            number,
            self._catalogue.epoch(version),
            -1 if since == attempt_views.UNKNOWN else self._timelines.epoch(since + 1),
            self._timelines.epoch(version),
            taken,
        )
        if key not in self._known:
            window = certain_devices.Window(since, version)
            self._known[key] = self._judged(self._made.grants[number], window, taken)
        return self._known[key]

    def _judged(
        self, grant: allocations.Grant, window: certain_devices.Window, taken: float
    ) -> allocation_judging.Answer:
        return _wrong([*_problems(grant), *self._more_problems(grant, window, taken)])

    def _more_problems(
        self, grant: allocations.Grant, window: certain_devices.Window, taken: float
    ) -> Iterator[str]:
        names = node_selectors.only_names(grant.allocation.node_selector)
        if names is None or len(names) != 1:
            return
        [node] = names
        for option in _chosen(grant):
            if option.count is None:
                yield from self._not_all(grant, option, node, window)
        yield from problems(grant, node, self._certain, window, taken)

    def _not_all(
        self,
        grant: allocations.Grant,
        option: request_options.Option,
        node: str,
        window: certain_devices.Window,
    ) -> Iterator[str]:
        got = {result.id for result in grant.results if result.request == option.name}
        missing = set(self._certain.every(node, option, window)) - got
        if missing:
            yield (
                f"request {option.name} asks for all devices and got {_counted(len(got))}, but not "
                f"{', '.join(sorted(missing))}"
            )


def _chosen(grant: allocations.Grant) -> Iterator[request_options.Option]:
    """Yield the requests and alternatives for which there are devices."""
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
