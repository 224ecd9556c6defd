"""Names the faults behind each violation.

A double allocation names the effects that explain it (see `fault_effects`), or the earlier double
allocation that it follows from. Any other violation names the faults that hit its objects.
"""

import collections
from collections.abc import Sequence

import msgspec

from harness.checks import protocol, verdicts
from harness.checks.faults import fault_effects, fault_records
from harness.checks.holds import hold_columns, hold_history
from harness.history import records

NONE = "no fault hit its objects"
UNEXPLAINED = "no fault explains it"
EFFECTS_MAX = 5
"""Faults named for one violation; the last ones to hit its objects."""
_Key = tuple[str, str, str]
"""Plural name of the resource, namespace and name of an object."""


class Attributor:
    """Attributes the violations of one run to its faults."""

    def __init__(self, faults: fault_records.FaultRecords, holds: hold_columns.HoldColumns) -> None:
        self._are_expected = faults.is_expected
        self._effects = fault_effects.FaultEffects(faults.applications, holds)
        self._on_objects = collections.defaultdict[_Key, list[records.FaultApplied]](list)
        for item in faults.applications:
            if item.name:
                self._on_objects[item.resource, item.namespace, item.name].append(item)
        self._holds = holds

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Attributor":
        return cls(evidence[fault_records.FaultRecords], evidence[hold_history.HoldHistory].holds)

    def review(self, check: protocol.Check, answer: verdicts.CheckResult) -> verdicts.CheckResult:
        """Return an answer whose violations have their faults, and a sentence about them.

        Answers of a run without faults stay as they are.
        """
        del check
        if not self._are_expected:
            return answer
        violations = [self.attribute(item) for item in answer.violations]
        return msgspec.structs.replace(answer, violations=violations)

    def attribute(self, violation: verdicts.Violation) -> verdicts.Violation:
        """Return a violation with its faults and the sentence about them."""
        if isinstance(violation, verdicts.DoubleAllocation):
            effects, sentence = self._explain(violation)
        else:
            effects = self._of_objects(violation)
            sentence = "; ".join(effect.text for effect in effects) or NONE
        return msgspec.structs.replace(violation, faults=effects, attribution=sentence)

    def _of_objects(self, violation: verdicts.Violation) -> list[verdicts.FaultEffect]:
        """Return the last effect of each fault on each object of a violation, in order of time."""
        last: dict[tuple[str, str], verdicts.FaultEffect] = {}
        for involved in violation.objects:
            key = (f"{involved.kind.lower()}s", involved.namespace, involved.name)
            name = "/".join(filter(None, (involved.namespace, involved.name)))
            for item in self._on_objects.get(key, ()):
                if not item.uid or not involved.uid or item.uid == involved.uid:
                    effect = fault_records.effect(item, f"{involved.kind} {name}", _text(item))
                    last[effect.fault, effect.object] = effect
        return sorted(last.values(), key=lambda effect: effect.begun_ns)[-EFFECTS_MAX:]

    def _explain(
        self, violation: verdicts.DoubleAllocation
    ) -> tuple[list[verdicts.FaultEffect], str]:
        first, second = violation.holders
        effects = self._effects.between(first, second)
        is_unseen = any(fault_effects.is_unseen(effect, second) for effect in effects)
        freed_by = None if is_unseen else self._freed_by(violation)
        if freed_by is not None and freed_by.until_rv is not None:
            return [], (
                f"it follows from an earlier one: {freed_by.name} had the device too, and its "
                f"release at resourceVersion {freed_by.until_rv} made it look free while "
                f"{first.name} still held it"
            )
        return effects, _sentence(effects, first, second, is_unseen=is_unseen)

    def _freed_by(self, violation: verdicts.DoubleAllocation) -> hold_history.Hold | None:
        """Return the hold of a third claim that ended while the first claim held the device.

        kube-scheduler keeps the allocated devices in a set, so that the release by one holder
        removes a device that another one still holds. None: there was no such hold.
        """
        first, second = violation.holders
        released = [
            hold
            for hold in self._holds.of_device(violation.device)
            if hold.uid not in (first.uid, second.uid)
            and hold.until_rv is not None
            and first.held_from_rv < hold.until_rv < second.held_from_rv
        ]
        return max(released, key=lambda hold: hold.until_rv or 0, default=None)


def _text(item: records.FaultApplied) -> str:
    """Return the call or event that was hit, its client, and the effect."""
    resource = f"{item.resource}/{item.subresource}" if item.subresource else item.resource
    hit = f"the {item.verb} of {resource} {item.name} by {item.client}"
    if item.event_type:
        hit = f"the event {item.event_type} of {item.name} to {item.client}"
    return f"{hit}: {item.detail or item.kind} ({item.fault})"


def _sentence(
    effects: Sequence[verdicts.FaultEffect],
    first: verdicts.Holder,
    second: verdicts.Holder,
    *,
    is_unseen: bool,
) -> str:
    """Join the effects behind a double allocation.

    `is_unseen`: the event of the first one had not reached the scheduler when the second one was
    committed.
    """
    if not effects:
        return UNEXPLAINED
    *others, last = (effect.text for effect in effects)
    joined = f"{', '.join(others)}, and {last}" if others else last
    versions = second.held_from_rv - first.held_from_rv
    distance = "1 version" if versions == 1 else f"{versions:,} versions"
    if is_unseen:
        return (
            f"{joined}: when {second.name} was allocated, {distance} after {first.name}, "
            "the scheduler could not know of it"
        )
    return f"{joined}; {second.name} was allocated {distance} after {first.name}"
