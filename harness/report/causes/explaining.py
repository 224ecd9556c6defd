"""Explains a double allocation: which read of the scheduler was stale, according to its steps."""

import dataclasses
from collections.abc import Iterable, Sequence

from harness.checks import verdicts
from harness.history import records

OF_SCHEDULER = ("gather.", "in-flight.", "allocated-devices.")
NO_KNOWN_ORDER = "The order of the steps matches neither of the two known stale reads."
SEE_FAULTS = "The faults explain what the scheduler did not know."
HIDING_FAULTS = frozenset({"lose-response", "truncate-response", "delay-response"})
"""Kinds of faults that hide the outcome of a committed write from its sender."""
NO_STEPS = (
    "No steps of the scheduler were recorded, so the history shows what happened but not why."
)


@dataclasses.dataclass(frozen=True, slots=True)
class Moments:
    """Sequence numbers of the deciding steps; None for steps that were not recorded."""

    cloned: int | None
    """The gather for the second claim copied the allocated devices."""
    listed: int | None
    """The gather for the second claim listed the claims in flight."""
    inserted: int | None
    """The device was inserted into the allocated devices for the first claim, by the scheduler of
    the second one."""
    removed: int | None
    """The first claim was removed from the claims in flight."""
    freed_by: str | None
    """uid of another claim whose release removed the device while the first claim held it."""


def are_of_scheduler(steps: Sequence[records.Step]) -> bool:
    """Return whether some of the steps tell what a scheduler knew; a claim controller's do not."""
    return any(step.name.startswith(OF_SCHEDULER) for step in steps)


def explain(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> str:
    """Explain a double allocation in one or two sentences.

    `steps` are those around it, in order; empty if none were recorded.
    """
    if not are_of_scheduler(steps):
        return NO_STEPS
    moments = find(violation, steps)
    first = violation.holders[0].name
    if moments.freed_by is not None:
        return (
            f"The release of another claim ({moments.freed_by}) removed the device from the "
            f"allocated devices while {first} still held it. The set does not count holders, so an "
            "earlier double allocation caused this one."
        )
    if _are_two_schedulers(violation) and moments.cloned is not None:
        return _explain_two(violation, moments)
    if moments.cloned is None or moments.listed is None or moments.removed is None:
        return "Some of the steps around it were not recorded, so the stale read is unknown."
    order = (moments.cloned, moments.listed, moments.inserted, moments.removed)
    found = _explain_order(*order, first, is_outcome_unknown=_is_outcome_unknown(violation))
    return f"{found} {SEE_FAULTS}" if found == NO_KNOWN_ORDER and violation.faults else found


def _are_two_schedulers(violation: verdicts.DoubleAllocation) -> bool:
    first, second = violation.holders
    return bool(first.scheduler and second.scheduler) and first.scheduler != second.scheduler


def _explain_two(violation: verdicts.DoubleAllocation, moments: Moments) -> str:
    """Explain a double allocation by two schedulers, each with claims in flight of its own."""
    first, second = violation.holders
    if moments.inserted is not None and moments.inserted < (moments.cloned or 0):
        return NO_KNOWN_ORDER
    missed = (
        "it knew of that allocation at all"
        if moments.inserted is None
        else f"the event of that allocation inserted the device of {first.name}"
    )
    return (
        f"{first.scheduler} allocated the device to {first.name}. {second.scheduler} does not know "
        f"the claims in flight of another scheduler, and its gather for {second.name} copied the "
        f"allocated devices before {missed}."
    )


def _is_outcome_unknown(violation: verdicts.DoubleAllocation) -> bool:
    """Return whether a fault hid the outcome of the write that allocated the device first."""
    first = violation.holders[0]
    written = f"ResourceClaim {first.namespace}/{first.name}"
    return any(
        effect.kind in HIDING_FAULTS and effect.object == written for effect in violation.faults
    )


def _explain_order(
    cloned: int,
    listed: int,
    inserted: int | None,
    removed: int,
    first: str,
    *,
    is_outcome_unknown: bool,
) -> str:
    late = inserted is None or inserted > cloned
    if late and removed < listed and (inserted is None or removed < inserted):
        if is_outcome_unknown:
            return (
                f"{first} left the claims in flight when its status write seemed to fail, before "
                "the event of its allocation inserted the device into the allocated devices. In "
                "between, the device was in neither, and the gather for the second claim read both."
            )
        return (
            f"{first} left the claims in flight before its device was inserted into the allocated "
            "devices. In between, the device was in neither, and the gather for the second claim "
            "read both: `assume` returned before its effects were visible, or ran too late."
        )
    if late and removed < listed:
        return (
            "The gather for the second claim copied the allocated devices before the device of "
            f"{first} was inserted, and listed the claims in flight after {first} had left them. "
            "It saw the device in neither and did not notice the change."
        )
    return NO_KNOWN_ORDER


def find(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Moments:
    """Find the deciding steps of a double allocation.

    They belong to the last gather before the second claim took the device, and to the first claim.
    """
    first, second = (holder.uid for holder in violation.holders)
    planned = _last(steps, "in-flight.added", claim=second, device=violation.device)
    before = [step for step in steps if planned is None or step.seq < planned.seq]
    cloned = _last(before, "gather.devices.cloned")
    listed = _last(before, "gather.in-flight.listed")
    # Only steps after the first claim took the device: it may have taken and released it before.
    began = _last(before, "in-flight.added", claim=first, device=violation.device)
    after = [step for step in steps if began is not None and step.seq > began.seq]
    seen = [step for step in after if planned is None or _process(step) == _process(planned)]
    inserted = _first(seen, "allocated-devices.inserted", claim=first, device=violation.device)
    removed = _first(after, "in-flight.removed", claim=first)
    return Moments(
        cloned=cloned.seq if cloned else None,
        listed=listed.seq if listed else None,
        inserted=inserted.seq if inserted else None,
        removed=removed.seq if removed else None,
        freed_by=_freed_by(violation, before, inserted, cloned),
    )


def _freed_by(
    violation: verdicts.DoubleAllocation,
    before: Sequence[records.Step],
    inserted: records.Step | None,
    cloned: records.Step | None,
) -> str | None:
    if inserted is None or cloned is None:
        return None
    for step in before:
        if (
            step.name == "allocated-devices.removed"
            and step.fields.get("device") == violation.device
            and inserted.seq < step.seq < cloned.seq
            and step.fields.get("claim") != violation.holders[0].uid
        ):
            return str(step.fields.get("claim"))
    return None


def _process(step: records.Step) -> str:
    """Return the process of a step; empty if all steps are of one process."""
    return step.thread.rpartition("/")[0]


def _last(steps: Sequence[records.Step], name: str, **fields: str) -> records.Step | None:
    return _first(reversed(steps), name, **fields)


def _first(steps: Iterable[records.Step], name: str, **fields: str) -> records.Step | None:
    for step in steps:
        if step.name == name and all(
            step.fields.get(key) == value for key, value in fields.items()
        ):
            return step
    return None
