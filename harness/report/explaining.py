"""Says in words which read was stale when a device was given away twice, as far as the subject's own steps show it."""

import dataclasses
from collections.abc import Iterable, Sequence

from harness.checks import verdicts
from harness.history import records

NO_STEPS = (
    "The subject left no steps of its own, so the history shows that it happened, and not why."
)


@dataclasses.dataclass(frozen=True, slots=True)
class Moments:
    """The steps that decide, by their sequence numbers; None where a step was not seen."""

    cloned: int | None
    """The gather of the second claim copied the allocated devices."""
    listed: int | None
    """The same gather listed the claims in flight."""
    inserted: int | None
    """The first claim's device was put among the allocated ones."""
    removed: int | None
    """The first claim left the claims in flight."""
    freed_by: str | None
    """Another claim whose release took the device out, though the first one held it."""


def explain(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> str:
    """One or two sentences."""
    if not steps:
        return NO_STEPS
    moments = find(violation, steps)
    first = violation.holders[0].name
    if moments.freed_by is not None:
        return (
            f"The device had been taken out of the allocated devices by the release of another claim ({moments.freed_by}) "
            f"while {first} still held it: the set does not count, so an earlier double allocation bred this one."
        )
    if moments.cloned is None or moments.listed is None or moments.removed is None:
        return "The steps around it were not all recorded, so the stale read cannot be named."
    return _of_order(moments.cloned, moments.listed, moments.inserted, moments.removed, first)


def _of_order(cloned: int, listed: int, inserted: int | None, removed: int, first: str) -> str:
    late = inserted is None or inserted > cloned
    if late and removed < listed and (inserted is None or removed < inserted):
        return (
            f"{first} left the claims in flight before its device was among the allocated ones. In between it was in neither, and the "
            "gather of the second claim read both: assume had returned before its effects could be seen, or the order was wrong."
        )
    if late and removed < listed:
        return (
            f"The gather of the second claim copied the allocated devices before the device of {first} was put among them, and listed "
            "the claims in flight after that claim had left them: it saw the device in neither, and did not notice that it had changed."
        )
    return "Neither of the two known stale reads fits the order of these steps."


def find(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Moments:
    """The deciding steps: those of the last gather before the second claim was planned, and the first claim's around it."""
    first, second = (holder.uid for holder in violation.holders)
    planned = _last(steps, "in-flight.added", claim=second, device=violation.device)
    before = [step for step in steps if planned is None or step.seq < planned.seq]
    cloned = _last(before, "gather.devices.cloned")
    listed = _last(before, "gather.in-flight.listed")
    # Of the first claim what followed its own planning: it is inserted and removed again in other parts of its life.
    began = _last(before, "in-flight.added", claim=first, device=violation.device)
    after = [step for step in steps if began is not None and step.seq > began.seq]
    inserted = _first(after, "allocated-devices.inserted", claim=first, device=violation.device)
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


def _last(steps: Sequence[records.Step], name: str, **fields: str) -> records.Step | None:
    return _first(reversed(steps), name, **fields)


def _first(steps: Iterable[records.Step], name: str, **fields: str) -> records.Step | None:
    for step in steps:
        if step.name == name and all(
            step.fields.get(key) == value for key, value in fields.items()
        ):
            return step
    return None
