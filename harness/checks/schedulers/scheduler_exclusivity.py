"""The check of each scheduler by itself, in runs with several schedulers.

That uncoordinated schedulers give one device to two claims is known, and `device_exclusivity` says
so. A double allocation by one scheduler alone is a race within it, which is a different defect.

Two allocations of a device by one scheduler are its own doing only if no other scheduler had the
device since it was last free. Otherwise they may follow from the other one's: a scheduler keeps the
allocated devices in a set, from which any release removes the device, even if a second claim still
holds it. The device was free when all its claims had been released before the next one came into
being: a scheduler that knows a claim has seen every release before it.
"""

import collections
import math
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from harness.checks import findings, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.schedulers import scheduler_attribution

Identity: TypeAlias = scheduler_attribution.SchedulerIdentity | None
"""None: it is not known which scheduler it was."""


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    """Return INVALID with the pairs by one scheduler, UNKNOWN if the evidence does not show it."""
    from harness.checks.holds import double_allocations  # imports pandas

    folded = evidence[hold_history.HoldHistory]
    schedulers = evidence[scheduler_attribution.SchedulersOfHolds]
    examined = folded.holds.frame(end_rv=folded.last_rv + 1)
    examined = examined[examined.exclusive].assign(share=False)
    pairs_of = double_allocations.counts_by_second(examined)
    disputed = examined.device.isin(examined.device[pairs_of.index])
    holds = dict(
        zip(examined.index[disputed], folded.holds.at(examined.index[disputed]), strict=True)
    )
    had = _since_free(holds, schedulers)
    own = [row for row in pairs_of.index if len(had[row]) == 1 and None not in had[row]]
    unclear = int(pairs_of[[row for row in pairs_of.index if None in had[row]]].sum())
    count, pairs = int(pairs_of[own].sum()), int(pairs_of.sum())
    shown = double_allocations.first_by_second(examined, own)
    reason = "no scheduler gave a device to two claims"
    if not len(examined):
        reason = "no exclusive allocation of any device was observed, so nothing was examined"
    elif own:
        reason = f"{count} of {pairs} double allocations are of one scheduler by itself"
    elif unclear:
        reason = f"it is not known which scheduler made {unclear} of {pairs} double allocations"
    elif pairs:
        reason = f"none of {pairs} double allocations is of one scheduler by itself"
    result = findings.result(
        CHECK,
        [
            _finding(holds[first], holds[second], schedulers.of(holds[first]))
            for first, second in zip(shown["first"], shown["second"], strict=True)
        ],
        is_kept=bool(len(examined) and not unclear),
        examined=len(examined),
        reason=reason,
    )
    return msgspec.structs.replace(result, violation_count=count)


CHECK = protocol.Check(
    name="scheduler_exclusivity",
    guarantee="X",
    promise="no scheduler gives a device to two claims by itself",
    applies=scheduler_attribution.are_several,
    needs=(hold_history.HoldHistory, scheduler_attribution.SchedulersOfHolds),
    judge=judge,
    by_holds=True,
)


def _since_free(
    holds: Mapping[int, hold_history.Hold], schedulers: scheduler_attribution.SchedulersOfHolds
) -> dict[int, frozenset[Identity]]:
    """Return, for each hold, the schedulers that have had its device since it was last free."""
    found: dict[int, frozenset[Identity]] = {}
    by_device = collections.defaultdict[str, list[int]](list)
    for row, hold in holds.items():
        by_device[hold.device].append(row)
    for rows in by_device.values():
        until: float = 0
        had: frozenset[Identity] = frozenset()
        for row in sorted(rows, key=lambda row: holds[row].from_rv):
            hold = holds[row]
            if schedulers.first_seen(hold) >= until:
                had = frozenset()
            had |= {schedulers.of(hold)}
            until = max(until, math.inf if hold.until_rv is None else hold.until_rv)
            found[row] = had
    return found


def _finding(
    first: hold_history.Hold, second: hold_history.Hold, scheduler: Identity
) -> findings.Finding:
    return findings.Finding(
        summary=f"{first.device}: {scheduler} gave it to {first.name} and {second.name} "
        f"from version {second.from_rv}",
        text=f"Scheduler {scheduler} allocated device {first.device} to claim "
        f"{first.namespace}/{first.name} (uid {first.uid}) at resourceVersion {first.from_rv}, "
        f"and to claim {second.namespace}/{second.name} (uid {second.uid}) at resourceVersion "
        f"{second.from_rv}, while the first still held it; no other scheduler had it since it was "
        "last free",
        versions=(first.from_rv, second.from_rv),
        objects=[verdicts.involved_claim(first), verdicts.involved_claim(second)],
    )
