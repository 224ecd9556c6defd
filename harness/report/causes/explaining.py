"""Explains a double allocation: which read of the scheduler was stale, according to its steps."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


class Moments(NamedTuple):
    """The deciding steps; None for those that were not recorded."""

    cloned: records.Step | None
    """The gather for the second claim copied the allocated devices."""
    listed: records.Step | None
    """The gather for the second claim listed the claims in flight."""
    inserted: records.Step | None
    """The device was inserted into the allocated devices for the first claim, by the scheduler of
    the second one."""
    removed: records.Step | None
    """The first claim was removed from the claims in flight."""
    freed_by: str | None
    """uid of another claim whose release removed the device while the first claim held it."""


class Window(NamedTuple):
    """A stale read, and the write that it missed."""

    read: records.Step
    """The scheduler copied the allocated devices for the second claim."""
    missed: records.Step
    """The device was inserted for the first claim, too late for that read."""
    first_rv: int
    """resourceVersion of the first allocation."""
    second_rv: int

    @property
    def length_ms(self) -> float:
        return (self.missed.ts_ns - self.read.ts_ns) / 1e6

    @property
    def text(self) -> str:
        return (
            f"The window was {self.length_ms:,.3f} ms long: from the stale read "
            f"({self.read.name}) to the write that it missed ({self.missed.name}). The second "
            f"allocation was committed as resourceVersion {self.second_rv}, "
            f"{self.second_rv - self.first_rv:,} after the first one, {self.first_rv}."
        )


def window(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Window | None:
    """Return the window; None if the steps show no stale read, or no write that it missed."""
    found = find(violation, steps)
    if not found.cloned or not found.inserted or found.inserted.ts_ns < found.cloned.ts_ns:
        return None
    return Window(found.cloned, found.inserted, *(item.held_from_rv for item in violation.holders))


def are_of_scheduler(steps: Sequence[records.Step]) -> bool:
    """Return whether some of the steps tell what a scheduler knew; a claim controller's do not."""
    return any(step.name.startswith(OF_SCHEDULER) for step in steps)


def explain(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> str:
    """Explain a double allocation in one or two sentences.

    `steps` are those around it, in order; empty if none were recorded.
    """
    if not are_of_scheduler(steps):
        return NO_STEPS
    found, (first, second) = find(violation, steps), violation.holders
    if found.freed_by is not None:
        return (
            f"The release of another claim ({found.freed_by}) removed the device from the "
            f"allocated devices while {first.name} still held it. The set does not count holders, "
            "so an earlier double allocation caused this one."
        )
    are_two = first.scheduler and second.scheduler and first.scheduler != second.scheduler
    if are_two and found.cloned is not None:
        return _between_schedulers(violation, found.cloned, found.inserted)
    if found.cloned is None or found.listed is None or found.removed is None:
        return "Some of the steps around it were not recorded, so the stale read is unknown."
    text = _order(violation, found.cloned.seq, found.listed.seq, found.removed.seq, found.inserted)
    return text or (f"{NO_KNOWN_ORDER} {SEE_FAULTS}" if violation.faults else NO_KNOWN_ORDER)


def _between_schedulers(
    violation: verdicts.DoubleAllocation, cloned: records.Step, inserted: records.Step | None
) -> str:
    first, second = violation.holders
    if inserted is not None and inserted.seq < cloned.seq:
        return NO_KNOWN_ORDER
    missed = (
        "it knew of that allocation at all"
        if inserted is None
        else f"the event of that allocation inserted the device of {first.name}"
    )
    return (
        f"{first.scheduler} allocated the device to {first.name}. {second.scheduler} does not know "
        f"the claims in flight of another scheduler, and its gather for {second.name} copied the "
        f"allocated devices before {missed}."
    )


def _order(
    violation: verdicts.DoubleAllocation,
    cloned: int,
    listed: int,
    removed: int,
    inserted: records.Step | None,
) -> str:
    """Explain the order of the steps, given by their numbers; empty if it is not known."""
    first = violation.holders[0]
    if removed > listed or (inserted is not None and inserted.seq < cloned):
        return ""
    if inserted is not None and inserted.seq < removed:
        return (
            "The gather for the second claim copied the allocated devices before the device of "
            f"{first.name} was inserted, and listed the claims in flight after {first.name} had "
            "left them. It saw the device in neither and did not notice the change."
        )
    written = f"ResourceClaim {first.namespace}/{first.name}"
    if any(item.kind in HIDING_FAULTS and item.object == written for item in violation.faults):
        return (
            f"{first.name} left the claims in flight when its status write seemed to fail, before "
            "the event of its allocation inserted the device into the allocated devices. In "
            "between, the device was in neither, and the gather for the second claim read both."
        )
    return (
        f"{first.name} left the claims in flight before its device was inserted into the allocated "
        "devices. In between, the device was in neither, and the gather for the second claim "
        "read both: `assume` returned before its effects were visible, or ran too late."
    )


def find(violation: verdicts.DoubleAllocation, steps: Sequence[records.Step]) -> Moments:
    """Find the deciding steps of a double allocation.

    They belong to the last gather before the second claim took the device, and to the first claim.
    """
    first = violation.holders[0].uid
    taken = planned(violation, 1, steps)
    before = [step for step in steps if taken is None or step.seq < taken.seq]
    cloned = _last(before, "gather.devices.cloned")
    listed = _last(before, "gather.in-flight.listed")
    # Only steps after the first claim took the device: it may have taken and released it before.
    began = planned(violation, 0, before)
    after = [step for step in steps if began is not None and step.seq > began.seq]
    seen = [step for step in after if taken is None or _process(step) == _process(taken)]
    inserted = _first(seen, "allocated-devices.inserted", claim=first, device=violation.device)
    removed = _first(after, "in-flight.removed", claim=first)
    freed_by = None
    if inserted and cloned:
        between = [step for step in before if inserted.seq < step.seq < cloned.seq]
        others = [step for step in between if step.fields.get("claim") != first]
        freed = _first(others, "allocated-devices.removed", device=violation.device)
        freed_by = str(freed.fields.get("claim")) if freed else None
    return Moments(cloned, listed, inserted, removed, freed_by)


def planned(
    violation: verdicts.DoubleAllocation, holder: int, steps: Sequence[records.Step]
) -> records.Step | None:
    """Return the last step in which the scheduler chose the device for the claim of a holder."""
    uid = violation.holders[holder].uid
    return _last(steps, "in-flight.added", claim=uid, device=violation.device)


def _process(step: records.Step) -> str:
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
