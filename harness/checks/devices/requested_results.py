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
from collections.abc import Iterator

import numpy as np

from harness.checks import plan_facts, protocol, request_amounts, verdicts
from harness.checks.devices import (
    allocation_judging,
    allocations,
    device_catalogue,
    node_selectors,
    pool_timelines,
    selected_devices,
)
from harness.checks.observed import observed_claims
from harness.checks.taints import attempt_views
from harness.model import quantities
from harness.model.fault_effects import Effect


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with the requests that got something else; NotExamined if there is nothing."""
    questions = evidence[allocation_judging.Questions]
    timelines = evidence[pool_timelines.PoolTimelines]
    answers = questions.ask(lambda grant, *_: allocation_judging.wrong(_problems(grant)))
    is_stale = plan_facts.plans_effect(evidence.plan, Effect.OLD_STATE)
    if not (questions.catalogue.gaps or timelines.has_gap or is_stale):
        views = evidence[attempt_views.AttemptViews]
        answers = _Judge(questions, timelines, views).with_certain(answers)
    return allocation_judging.result(
        CHECK, questions, answers, good="all requests got what they ask for"
    )


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
    judge=judge,
)


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
        views: attempt_views.AttemptViews,
    ) -> None:
        self._questions, self._made, self._catalogue = (
            questions,
            questions.made,
            questions.catalogue,
        )
        self._timelines, self._views = timelines, views
        self._known: dict[tuple[int, ...], allocation_judging.Answer] = {}
        """The answers so far, by all that they depend on."""

    def with_certain(self, answers: allocation_judging.Answers) -> allocation_judging.Answers:
        concerned = [
            any(option.number is None for _, option in _chosen(grant))
            for grant in self._made.grants
        ]
        rows = np.flatnonzero(np.array(concerned, dtype=bool)[self._questions.numbers])
        return answers.replaced(rows, self._answer)

    def _answer(self, row: int) -> allocation_judging.Answer:
        number, version = self._made.grant_numbers[row], self._made.versions[row]
        since = self._views.slices_of(self._made.claims[row].uid)
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
        for name, option in _chosen(grant):
            if option.number is not None:
                continue
            got = {result.id for result in grant.results if result.request == name}
            missing = set(self._every(node, option, since, until)) - got
            if missing:
                devices = verdicts.counted(len(got), "device")
                yield (
                    f"request {name} asks for all devices and got {devices}, but not "
                    f"{', '.join(sorted(missing))}"
                )

    def _every(
        self, node: str, option: observed_claims.ExactRequest, since: int, until: int
    ) -> Iterator[str]:
        """Yield the devices of a node that match an option in all versions of slice and class."""
        classes = self._catalogue.classes(option.device_class_name, until)
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


def _has_capacity(
    known: device_catalogue.KnownDevice, option: observed_claims.ExactRequest
) -> bool:
    """Return whether a device that is not in use could have the amounts that an option asks for."""
    asked = option.quantities
    if not (asked or known.device.allow_multiple_allocations):
        return True
    try:
        return request_amounts.is_enough(known.device, known.driver, asked)
    except (quantities.QuantityError, request_amounts.AmbiguousNamesError):
        return False


def _chosen(grant: allocations.Grant) -> Iterator[tuple[str, observed_claims.ExactRequest]]:
    got = {result.request for result in grant.results}
    return ((name, option) for name, option in grant.spec.options.items() if name in got)


def _problems(grant: allocations.Grant) -> Iterator[str]:
    got = collections.Counter(result.request for result in grant.results)
    for name in got.keys() - grant.spec.options.keys():
        yield f"a result names request {name}, which the claim lacks"
    for request in grant.spec.requests or ():
        chosen = {name: option for name, option in request.options.items() if name in got}
        if len(chosen) > 1:
            names = " and ".join(chosen)
            yield f"request {request.name} got devices for {names}, which are alternatives"
        elif not chosen:
            yield f"request {request.name} got no device"
        for name, option in chosen.items() if len(chosen) == 1 else ():
            if option.number not in (None, got[name]):
                devices = verdicts.counted(got[name], "device")
                yield f"request {name} got {devices} instead of {option.number}"
