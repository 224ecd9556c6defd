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
that was not taken is wrong only if others could not have had its devices: see the end of this text.

The API promises (resource.k8s.io/v1, DeviceRequest.firstAvailable): the scheduler "tries to satisfy
them in the order in which they are listed here. So if there are two entries in the list, the
scheduler will only check the second one if it determines that the first one can not be used."

A record does not show which devices a scheduler had chosen for other claims and not written yet, or
what it had not heard of. Therefore an earlier alternative is demanded only if others can have had
too few of its devices on the chosen node: by what all claims together can have taken so far
(`device_demand`), or by what others had at some moment of the attempt, or came to have of it later
(`free_devices`). Otherwise a later one is right. Claims with constraints are left out, and so are
alternatives for all devices or for capacities: of these, the order is not examined.
"""

import collections
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from harness.checks import object_plans, protocol, verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    certain_devices,
    device_catalogue,
    device_demand,
    free_devices,
    node_selectors,
    pool_timelines,
    request_options,
)
from harness.checks.holds import hold_history
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


def is_ordered(grant: allocations.Grant) -> bool:
    return not grant.spec.constraints and all(
        option.count is not None and not option.wanted.quantities
        for choice in later_choices(grant)
        for option in choice.better
    )


def problems(
    grant: allocations.Grant,
    node: str,
    certain: certain_devices.CertainDevices,
    window: certain_devices.Window,
    *,
    taken: float,
    count_free: Callable[[Sequence[str]], float],
) -> Iterator[str]:
    """Yield the alternatives that could certainly be used, and were not.

    `taken` is the largest number of devices that may have been taken by claims, this one too.
    `count_free` returns how many of some devices no other claim had.
    """
    own = device_demand.most(grant.spec.requests or ())
    if grant.spec.constraints or own > RESULTS_MAX:
        return
    for choice in later_choices(grant):
        for option in choice.better:
            names = _names(option, node, certain, window)
            if len(names) >= max(taken, own):
                why = f"all claims together could have {max(taken, own):.0f} of them at most"
            elif len(names) >= own and count_free(names) >= own:
                why = f"no other claim had {own:.0f} of them, or could have had them"
            else:
                continue
            yield (
                f"request {choice.chosen.request} got devices for {choice.chosen.name}, "
                f"although {node} had {len(names)} for {option.name}, which comes before it, and "
                f"{why}"
            )
            break


def _names(
    option: request_options.Option,
    node: str,
    certain: certain_devices.CertainDevices,
    window: certain_devices.Window,
) -> list[str]:
    if option.count is None or option.wanted.quantities:
        return []
    return list(certain.matching(node, option, window))


CHECK = protocol.Check(
    name="requested_results",
    guarantee="N",
    promise="a claim gets as many devices as each of its requests, or one alternative of it, asks for",
    applies=allocation_judging.applies,
    needs=(
        allocation_judging.Questions,
        pool_timelines.PoolTimelines,
        attempt_views.AttemptViews,
        hold_history.HoldHistory,
    ),
    judge=lambda evidence: check(
        evidence[allocation_judging.Questions],
        evidence[pool_timelines.PoolTimelines],
        evidence[attempt_views.AttemptViews],
        evidence.plan,
        evidence[hold_history.HoldHistory],
    ),
)


def check(
    questions: allocation_judging.Questions,
    timelines: pool_timelines.PoolTimelines,
    views: Mapping[str, attempt_views.View],
    plan: plans.Plan,
    folded: hold_history.HoldHistory | None = None,
) -> verdicts.Answer:
    """Return INVALID with the requests that got something else; NotExamined if there is nothing.

    `folded` None: nothing is known of the devices that others had.
    """
    findings = questions.ask(_ask)
    is_certain = _is_certain(questions, timelines, plan)
    has_order = is_certain and _has_order(plan)
    if is_certain:
        free = free_devices.FreeDevices(folded or hold_history.HoldHistory(), questions.made)
        judge = _Judge(questions, timelines, views, free, has_order=has_order)
        findings = judge.with_certain(findings)
    answer = allocation_judging.result(
        CHECK, questions, findings, good="all requests got what they ask for"
    )
    left = _not_ordered(questions, has_order=has_order)
    if not left or isinstance(answer, verdicts.NotExamined):
        return answer
    told = f"of {left} later alternatives, the order was not examined"
    return msgspec.structs.replace(
        answer, reason=f"{answer.reason}; {told}", unexamined_count=answer.unexamined_count + left
    )


def _not_ordered(questions: allocation_judging.Questions, *, has_order: bool) -> int:
    """Return the number of allocations with a later alternative whose order is not judged."""
    left = [
        any(later_choices(grant)) and not (has_order and is_ordered(grant))
        for grant in questions.made.grants
    ]
    numbers = np.array(questions.made.grant_numbers, dtype=np.int64)
    return int(np.count_nonzero(np.array(left, dtype=bool)[numbers])) if any(left) else 0


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
        free: free_devices.FreeDevices,
        *,
        has_order: bool,
    ) -> None:
        self._free = free
        self._made, self._catalogue = questions.made, questions.catalogue
        self._demand, self._timelines, self._views = questions.demand, timelines, views
        self._has_order = has_order
        self._certain = certain_devices.CertainDevices(questions.catalogue, timelines)
        self._known: dict[tuple[object, ...], allocation_judging.Answer] = {}
        """The answers so far, by all that they depend on."""

    def with_certain(self, findings: allocation_judging.Findings) -> allocation_judging.Findings:
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
        key: tuple[object, ...] = (
            number,
            self._catalogue.epoch(version),
            -1 if since == attempt_views.UNKNOWN else self._timelines.epoch(since + 1),
            self._timelines.epoch(version),
            taken,
        )
        grant = self._made.grants[number]
        if self._has_order and any(later_choices(grant)):
            key += (row,)
        if key not in self._known:
            window = certain_devices.Window(since, version)
            problems = [*_problems(grant), *self._more_problems(row, window, taken)]
            self._known[key] = _wrong(problems)
        return self._known[key]

    def _count_free(self, names: Sequence[str], row: int) -> float:
        return self._free.count(names, row) if self._has_order else 0.0

    def _more_problems(
        self, row: int, window: certain_devices.Window, taken: float
    ) -> Iterator[str]:
        grant = self._made.grants[self._made.grant_numbers[row]]
        names = node_selectors.only_names(grant.allocation.node_selector)
        if names is None or len(names) != 1:
            return
        [node] = names
        for option in _chosen(grant):
            if option.count is None:
                yield from self._not_all(grant, option, node, window)
        yield from problems(
            grant,
            node,
            self._certain,
            window,
            taken=taken,
            count_free=lambda names: self._count_free(names, row),
        )

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
