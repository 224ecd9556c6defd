"""Names the schedulers behind each double allocation, in runs with several of them."""

from collections.abc import Iterable

import msgspec

from harness.checks import verdicts
from harness.checks.holds import hold_history
from harness.checks.schedulers import scheduler_identities

ISSUE = "kubernetes#128980"


def attribute(
    results: Iterable[verdicts.CheckResult],
    folded: hold_history.HoldHistory,
    schedulers: scheduler_identities.SchedulersOfHolds,
    *,
    are_elected: bool,
) -> list[verdicts.CheckResult]:
    """Return the results; each double allocation has a sentence about its schedulers.

    `are_elected`: only one of the schedulers may schedule at a time, the leader.
    """

    def told(violation: verdicts.Violation) -> verdicts.Violation:
        if not isinstance(violation, verdicts.DoubleAllocation):
            return violation
        by_key = {
            (hold.uid, hold.from_rv): hold for hold in folded.holds.of_device(violation.device)
        }
        holds = [by_key[holder.uid, holder.held_from_rv] for holder in violation.holders]
        found = [schedulers.of(hold) for hold in holds]
        names = [str(item) if item else "" for item in found]
        holders = [
            msgspec.structs.replace(holder, scheduler=name)
            for holder, name in zip(violation.holders, names, strict=True)
        ]
        text = sentence(holders, are_elected=are_elected)
        return msgspec.structs.replace(violation, holders=holders, schedulers=text)

    return [
        msgspec.structs.replace(result, violations=[told(item) for item in result.violations])
        for result in results
    ]


def sentence(holders: list[verdicts.Holder], *, are_elected: bool) -> str:
    """Return what is known about the schedulers of a double allocation."""
    first, second = holders
    if not first.scheduler or not second.scheduler:
        known = first.scheduler or second.scheduler
        return f"one by {known}, the other one unknown" if known else "unknown"
    if first.scheduler == second.scheduler:
        return f"{first.scheduler} allocated it to both claims"
    both = f"{first.scheduler} allocated it to {first.name}, {second.scheduler} to {second.name}"
    if are_elected:
        return f"{both}: the leader changed in between"
    return f"two uncoordinated schedulers ({ISSUE}): {both}"
