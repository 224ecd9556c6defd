"""The checks of requests: a claim gets as many devices as it asks for, which match.

The API promises (resource.k8s.io/v1): "ExactCount: This request is for a specific number of
devices. […] All: This request is for all of the matching devices in a pool. At least one device
must exist on the node for the allocation to succeed" (ExactDeviceRequest.allocationMode), and
"FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler"
(DeviceRequest.firstAvailable). Which alternative is right depends on what the scheduler had chosen
for other claims, which a record does not show: their order is not judged. Of requests for all
devices, those are demanded that the scheduler must have known on the chosen node, whatever others
have of their capacities and counters: from a node that has not enough of each of them, the claim
gets nothing (kubernetes#140769).

"All selectors must be satisfied for a device to be considered" (ExactDeviceRequest.selectors), and
each of the class "by a device which is claimed via this class" (DeviceClassSpec.selectors), which
must exist: "A DeviceClassName is required". Selectors that this judge cannot evaluate are not
examined.

"MatchAttribute requires that all devices in question have this attribute and that its type and
value are the same across those devices", and distinctAttribute "that its type and value are unique
across those devices" (DeviceConstraint). Lists match if they have a value in common, and are
distinct if they have none.

A device is wrong if it matches in no versions of slice and class up to the allocation, and
constraints are broken if they do not hold for any versions of the devices.
"""

import collections
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.devices import (
    allocation_judging,
    capacities,
    cel_selectors,
    device_catalogue,
    device_timelines,
)
from harness.checks.observed import observations, observed_claims
from harness.model import quantities
from harness.model.fault_effects import Effect


def _ask_selectors(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    options = case.grant.spec.options
    wrong: list[allocation_judging.Wrong] = []
    doubt: allocation_judging.Unjudged | None = None
    for result in case.grant.results:
        try:
            problem = _mismatch(result, options.get(result.request), case)
            wrong += [allocation_judging.Wrong(problem)] if problem else []
        except allocation_judging.Unjudged as error:
            doubt = error
    if doubt and not wrong:
        raise doubt
    return allocation_judging.joined(wrong)


def _mismatch(
    result: observed_claims.AllocationResult,
    option: observed_claims.ExactRequest | None,
    case: allocation_judging.Case,
) -> str:
    if option is None:
        raise allocation_judging.Unjudged(allocation_judging.UNKNOWN_REQUEST)
    classes = case.catalogue.classes(option.device_class_name, case.version)
    if not classes:
        name = option.device_class_name
        return f"the device class {name} of request {result.request} did not exist"
    doubts, refusal = [], ""
    for device in case.known(result.id):
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
        selector = cel_selectors.selector(expression)
        device.matches[expression] = selector.matches(device.driver, device.device)
    return device.matches[expression]


SELECTED_DEVICES = allocation_judging.of_each(
    name="selected_devices",
    guarantee="N",
    promise="each allocated device matches the selectors of its request and of its class",
    good="all devices match the selectors of their requests and classes",
    rests_on=(observations.SLICES, observations.CLASSES),
    answers=allocation_judging.asking(_ask_selectors),
)


# --------------------------------------------------------------------------- constraints
Values: TypeAlias = frozenset[tuple[str, Any]]
"""Types and values; a single attribute has one value, a list may have several."""


def _ask_constraints(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    if not case.grant.spec.constraints:
        raise allocation_judging.Unjudged("the claim has no constraints", is_vacuous=True)
    wrong: list[allocation_judging.Wrong] = []
    doubts: list[allocation_judging.Unjudged] = []
    for item in case.grant.spec.constraints:
        try:
            wrong += _broken(item, case)
        except allocation_judging.Unjudged as doubt:
            doubts.append(doubt)
    if doubts and not wrong:
        raise doubts[0]
    return allocation_judging.joined(wrong)


def _broken(
    constraint: observed_claims.Constraint, case: allocation_judging.Case
) -> Iterator[allocation_judging.Wrong]:
    results = case.grant.results
    covered = [result.id for result in results if covers(constraint, result.request)]
    known = [case.known(device) for device in covered]
    if any(is_kept(constraint, chosen) for chosen in allocation_judging.combined(known)):
        return
    is_match = constraint.match_attribute is not None
    name = constraint.match_attribute or constraint.distinct_attribute
    devices = ", ".join(dict.fromkeys(covered))
    yield allocation_judging.Wrong(
        f"the attribute {name} must be {'the same' if is_match else 'different'} for {devices}",
        weight=len(covered),
    )


def covers(constraint: observed_claims.Constraint, request: str) -> bool:
    """Return whether a constraint is about the devices for a request, or for an alternative."""
    listed = constraint.requests
    return not listed or request in listed or request.partition("/")[0] in listed


def is_kept(
    constraint: observed_claims.Constraint, chosen: Sequence[device_catalogue.KnownDevice]
) -> bool:
    """Return whether a constraint holds; one of another kind than these two always does."""
    for name, agree in (
        (constraint.match_attribute, lambda found: not found or frozenset.intersection(*found)),
        (
            constraint.distinct_attribute,
            lambda found: sum(map(len, found)) == len(frozenset().union(*found)),
        ),
    ):
        found = [_values(device, name) for device in chosen] if name else []
        known = [values for values in found if values is not None]
        if len(known) < len(found) or not agree(known):
            return False
    return True


def _values(known: device_catalogue.KnownDevice, name: str) -> Values | None:
    """Return the values of an attribute by its qualified name; None: the device lacks it.

    An attribute without a domain is in that of the driver.
    """
    attributes = known.device.attributes or {}
    attribute = attributes.get(name, attributes.get(name.removeprefix(f"{known.driver}/")))
    if not attribute:
        return None
    kind, content = next(iter(attribute.items()))
    if isinstance(content, list):
        return frozenset((kind.removesuffix("s"), item) for item in content)
    return frozenset(((kind, content),))


CLAIM_CONSTRAINTS = allocation_judging.of_each(
    name="claim_constraints",
    guarantee="N",
    promise="the devices of a claim have the attributes that its constraints demand",
    good="all constraints hold",
    nothing="no claim with constraints was allocated",
    rests_on=(observations.SLICES,),
    answers=allocation_judging.asking(_ask_constraints),
)


# ------------------------------------------------------------------------------- amounts
def _requested(evidence: protocol.Evidence) -> allocation_judging.Answers:
    allocations = evidence[allocation_judging.Allocations]
    answers = allocations.ask(lambda case: allocation_judging.wrong(_problems(case.grant)))
    if allocations.catalogue.gaps or plan_facts.plans_effect(evidence.plan, Effect.OLD_STATE):
        return answers
    timelines, views = (
        evidence[device_timelines.PoolTimelines],
        evidence[device_timelines.AttemptViews],
    )
    return _Judge(allocations, timelines, views).with_certain(answers)


REQUESTED_RESULTS = allocation_judging.of_each(
    name="requested_results",
    guarantee="N",
    promise="a claim gets as many devices as each of its requests, or one alternative of it, asks for",
    good="all requests got what they ask for",
    needs=(device_timelines.PoolTimelines, device_timelines.AttemptViews),
    answers=_requested,
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Judge:
    """Judges the requests for all devices, by the pools that did not change in the attempt.

    A scheduler chooses from any version of a pool between the one that its slice tracker had
    certainly dealt with when the attempt began, and the allocation. Without the steps of a Python
    scheduler only a pool counts that has not changed since the first list.
    """

    allocations: allocation_judging.Allocations
    timelines: device_timelines.PoolTimelines
    views: device_timelines.AttemptViews
    known: dict[tuple[int, ...], allocation_judging.Answer] = dataclasses.field(
        default_factory=dict
    )
    """The answers so far, by all that they depend on."""

    def with_certain(self, answers: allocation_judging.Answers) -> allocation_judging.Answers:
        concerned = [
            any(option.number is None for _, option in _chosen(grant))
            for grant in self.allocations.grants
        ]
        rows = np.flatnonzero(np.array(concerned, dtype=bool)[self.allocations.numbers])
        return answers.replaced(rows, self._answer)

    def _answer(self, row: int) -> allocation_judging.Answer:
        number, version = int(self.allocations.numbers[row]), int(self.allocations.versions[row])
        since = self.views.slices_of(self.allocations.claims[row].uid)
        key = (
            number,
            self.allocations.catalogue.epoch(version),
            -1 if since == device_timelines.UNKNOWN else self.timelines.epoch(since + 1),
            self.timelines.epoch(version),
        )
        if key not in self.known:
            grant = self.allocations.grants[number]
            self.known[key] = allocation_judging.wrong(
                [*_problems(grant), *self._not_all(grant, since, version)]
            )
        return self.known[key]

    def _not_all(self, grant: allocation_judging.Grant, since: int, until: int) -> Iterator[str]:
        names = device_catalogue.only_names(grant.allocation.node_selector)
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
        classes = self.allocations.catalogue.classes(option.device_class_name, until)
        if not classes:
            return
        expressions = [*(text for one in classes for text in one), *option.expressions]
        for name in self.timelines.steady(since, until):
            is_clear = self.timelines.tainted_since.get(name, until) >= until
            if is_clear and all(
                item.place.node_name == node
                and all(matches(item, text) for text in expressions)
                and _has_capacity(item, option)
                for item in self.allocations.catalogue.devices(name, until)
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
        return capacities.is_enough(known.device, known.driver, asked)
    except (quantities.QuantityError, capacities.AmbiguousNamesError):
        return False


def _chosen(grant: allocation_judging.Grant) -> Iterator[tuple[str, observed_claims.ExactRequest]]:
    got = {result.request for result in grant.results}
    return ((name, option) for name, option in grant.spec.options.items() if name in got)


def _problems(grant: allocation_judging.Grant) -> Iterator[str]:
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
