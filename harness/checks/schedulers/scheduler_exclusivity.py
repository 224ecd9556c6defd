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
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from harness.checks import findings, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.schedulers import scheduler_identities

Identity: TypeAlias = scheduler_identities.SchedulerIdentity | None
"""None: it is not known which scheduler it was."""


CHECK = protocol.Check(
    name="scheduler_exclusivity",
    guarantee="X",
    promise="no scheduler gives a device to two claims by itself",
    applies=scheduler_identities.are_several,
    needs=(hold_history.HoldHistory, scheduler_identities.SchedulersOfHolds),
    judge=lambda evidence: check(
        evidence[hold_history.HoldHistory], evidence[scheduler_identities.SchedulersOfHolds]
    ),
    by_holds=True,
)


def check(
    folded: hold_history.HoldHistory, schedulers: scheduler_identities.SchedulersOfHolds
) -> verdicts.CheckResult:
    """Return INVALID with the pairs by one scheduler, UNKNOWN if the evidence does not show it."""
    from harness.checks.holds import double_allocations  # imports pandas

    examined = folded.holds.frame(end_rv=folded.last_rv + 1)
    examined = examined[examined.exclusive].assign(share=False)
    pairs_of = double_allocations.counts_by_second(examined)
    disputed = examined.device.isin(examined.device[pairs_of.index])
    holds = dict(
        zip(examined.index[disputed], folded.holds.at(examined.index[disputed]), strict=True)
    )
    search = _Search(list(holds.values()), schedulers)
    own = [row for row in pairs_of.index if search.is_own(holds[row])]
    unclear = [row for row in pairs_of.index if search.is_unclear(holds[row])]
    shown = double_allocations.first_by_second(examined, own)
    found = [
        _finding(holds[first], holds[second], schedulers.of(holds[first]))
        for first, second in zip(shown["first"], shown["second"], strict=True)
    ]
    count, unclear_count = int(pairs_of[own].sum()), int(pairs_of[unclear].sum())
    result = findings.result(
        CHECK,
        found,
        is_kept=bool(len(examined) and not unclear_count),
        examined=len(examined),
        reason=_reason(len(examined), int(pairs_of.sum()), count, unclear_count),
    )
    return msgspec.structs.replace(result, violation_count=count)


class _Search:
    """Looks for the schedulers of pairs."""

    def __init__(
        self,
        holds: Sequence[hold_history.Hold],
        schedulers: scheduler_identities.SchedulersOfHolds,
    ) -> None:
        self._schedulers = schedulers
        self._since_free: dict[int, frozenset[Identity]] = {}
        """Schedulers that had the device since it was last free, by the id of the hold."""
        by_device: dict[str, list[hold_history.Hold]] = collections.defaultdict(list)
        for hold in holds:
            by_device[hold.device].append(hold)
        for of_device in by_device.values():
            self._follow(sorted(of_device, key=lambda hold: hold.from_rv))

    def _follow(self, holds: Sequence[hold_history.Hold]) -> None:
        """Note the schedulers of each hold of a device and of those before it; in order."""
        until: float = 0
        had: frozenset[Identity] = frozenset()
        for hold in holds:
            if self._schedulers.first_seen(hold) >= until:
                had = frozenset()
            had |= {self._schedulers.of(hold)}
            until = max(until, math.inf if hold.until_rv is None else hold.until_rv)
            self._since_free[id(hold)] = had

    def is_own(self, second: hold_history.Hold) -> bool:
        """Return whether one scheduler made both allocations, and no other one had the device."""
        had = self._since_free[id(second)]
        return len(had) == 1 and None not in had

    def is_unclear(self, second: hold_history.Hold) -> bool:
        """Return whether it is not known which schedulers had the device."""
        return None in self._since_free[id(second)]


def _reason(examined: int, pairs: int, own: int, unclear: int) -> str:
    if not examined:
        return "no exclusive allocation of any device was observed, so nothing was examined"
    if own:
        return f"{own} of {pairs} double allocations are of one scheduler by itself"
    if unclear:
        return f"it is not known which scheduler made {unclear} of {pairs} double allocations"
    if pairs:
        return f"none of {pairs} double allocations is of one scheduler by itself"
    return "no scheduler gave a device to two claims"


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
