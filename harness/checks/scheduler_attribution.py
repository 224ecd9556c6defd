"""The schedulers of a run, which of them made an allocation, and the check of each by itself.

The API server writes the manager of each field into `metadata.managedFields`. Schedulers with equal
managers can be distinguished by the pods for which they allocated, if their names differ.

That uncoordinated schedulers give one device to two claims is known, and `device_exclusivity` says
so. A double allocation by one scheduler alone is a race within it, which is a different defect.

Two allocations of a device by one scheduler are its own doing only if no other scheduler had the
device since it was last free. Otherwise they may follow from the other one's: a scheduler keeps the
allocated devices in a set, from which any release removes the device, even if a second claim still
holds it. The device was free when all its claims had been released before the next one came into
being: a scheduler that knows a claim has seen every release before it.
"""

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations
from harness.history import plans
from harness.model import naming

ISSUE = "kubernetes#128980"
AllocationKey: TypeAlias = tuple[str, int]
"""Uid of a claim, and the resourceVersion that allocated it."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class SchedulerIdentity:
    """A process that schedules."""

    process: str
    """`scheduler`, `scheduler-2`, …; `scheduler.2` if it was started again."""
    name: str
    """`spec.schedulerName` of its pods."""

    def __str__(self) -> str:
        return f"{self.process} ({self.name})"


def planned(plan: plans.Plan) -> list[SchedulerIdentity]:
    listed = plan_facts.part(plan, "subject").get("schedulers", ())
    names = [item.get("scheduler_name", "") for item in listed]
    return [SchedulerIdentity(naming.scheduler(index), name) for index, name in enumerate(names)]


def are_several(plan: plans.Plan) -> bool:
    return len(planned(plan)) > 1


class AllocationWriter(NamedTuple):
    """The writer of an allocation, as the API server names it."""

    manager: str
    """Field manager of `status.allocation`; empty: unknown."""
    pods: Sequence[str]
    """Uids of the pods that the claim was reserved for in the same version."""


class AllocationWriters(folders.Folder):
    """The writers of all allocations, and the schedulers that they are."""

    def __init__(self, schedulers: Sequence[SchedulerIdentity] = ()) -> None:
        """`schedulers` are those of the plan."""
        self.by_allocation: dict[AllocationKey, AllocationWriter] = {}
        self.first_seen: dict[str, int] = {}
        """Uid of a claim -> its first resourceVersion."""
        self._names: dict[str, str] = {}
        """Uid of a pod -> its `spec.schedulerName`."""
        self._allocated: set[str] = set()
        """Uids of the claims that are allocated now."""
        self._planned = schedulers
        self._by_process = {item.process: item for item in schedulers}

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "AllocationWriters":
        return cls(planned(evidence.plan))

    def see_pod(self, seen: observations.SeenPod) -> None:
        if not seen.is_gone:
            self._names[seen.object.metadata.uid] = seen.object.spec.scheduler_name

    def see_claim(self, seen: observations.SeenClaim) -> None:
        if seen.is_gone:
            return
        uid, status = seen.object.metadata.uid, seen.object.status
        self.first_seen.setdefault(uid, seen.version)
        if status.allocation is None:
            self._allocated.discard(uid)
        elif uid not in self._allocated:
            self._allocated.add(uid)
            pods = [item.uid for item in status.reserved_for or ()]
            writer = AllocationWriter(seen.object.manager, pods)
            self.by_allocation[uid, seen.version] = writer

    def scheduler_of(self, allocation: AllocationKey) -> SchedulerIdentity | None:
        """Return the scheduler that made an allocation; None if the evidence does not show it."""
        writer = self.by_allocation.get(allocation)
        if writer is None:
            return None
        process = naming.process_of(writer.manager)
        first = self._by_process.get(naming.first_incarnation(process))
        return SchedulerIdentity(process, first.name) if first else self._by_pods(writer.pods)

    def _by_pods(self, pods: Sequence[str]) -> SchedulerIdentity | None:
        """Return the scheduler that the pods name, if no other one has this name."""
        named = {self._names.get(uid, "") for uid in pods}
        found = [item for item in self._planned if item.name in named]
        return found[0] if len(found) == 1 else None


def review(
    evidence: protocol.Evidence, _check: protocol.Check, answer: verdicts.CheckResult
) -> verdicts.CheckResult:
    """Return an answer whose double allocations name their schedulers, if there are several."""
    if not are_several(evidence.plan):
        return answer
    writers = evidence[AllocationWriters]
    are_elected = bool(plan_facts.part(evidence.plan, "subject").get("leader_election"))
    violations = [
        _attributed(item, writers, are_elected=are_elected)
        if isinstance(item, verdicts.DoubleAllocation)
        else item
        for item in answer.violations
    ]
    return msgspec.structs.replace(answer, violations=violations)


def _attributed(
    violation: verdicts.DoubleAllocation, writers: AllocationWriters, *, are_elected: bool
) -> verdicts.DoubleAllocation:
    holders = [
        msgspec.structs.replace(holder, scheduler=str(found) if found else "")
        for holder in violation.holders
        for found in [writers.scheduler_of((holder.uid, holder.held_from_rv))]
    ]
    text = sentence(holders, are_elected=are_elected)
    return msgspec.structs.replace(violation, holders=holders, schedulers=text)


def sentence(holders: list[verdicts.Holder], *, are_elected: bool) -> str:
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


# -------------------------------------------------------------- each scheduler by itself
def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    from harness.checks.holds import double_allocations  # imports pandas

    folded = evidence[hold_history.HoldHistory]
    schedulers = evidence[AllocationWriters]
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
        SCHEDULER_EXCLUSIVITY,
        [
            _finding(holds[first], holds[second], schedulers)
            for first, second in zip(shown["first"], shown["second"], strict=True)
        ],
        is_kept=bool(len(examined) and not unclear),
        examined=len(examined),
        reason=reason,
    )
    return msgspec.structs.replace(result, violation_count=count)


SCHEDULER_EXCLUSIVITY = protocol.Check(
    name="scheduler_exclusivity",
    guarantee="X",
    promise="no scheduler gives a device to two claims by itself",
    applies=are_several,
    needs=(hold_history.HoldHistory, AllocationWriters),
    judge=judge,
    by_holds=True,
)


def _since_free(
    holds: Mapping[int, hold_history.Hold], schedulers: AllocationWriters
) -> dict[int, frozenset[SchedulerIdentity | None]]:
    """Return, for each hold, the schedulers that have had its device since it was last free."""
    found: dict[int, frozenset[SchedulerIdentity | None]] = {}
    by_device = collections.defaultdict[str, list[int]](list)
    for row, hold in holds.items():
        by_device[hold.device].append(row)
    for rows in by_device.values():
        until: float = 0
        had: frozenset[SchedulerIdentity | None] = frozenset()
        for row in sorted(rows, key=lambda row: holds[row].from_rv):
            hold = holds[row]
            if schedulers.first_seen.get(hold.uid, hold.from_rv) >= until:
                had = frozenset()
            had |= {schedulers.scheduler_of((hold.uid, hold.from_rv))}
            until = max(until, math.inf if hold.until_rv is None else hold.until_rv)
            found[row] = had
    return found


def _finding(
    first: hold_history.Hold, second: hold_history.Hold, schedulers: AllocationWriters
) -> findings.Finding:
    scheduler = schedulers.scheduler_of((first.uid, first.from_rv))
    return findings.Finding(
        summary=f"{first.device}: {scheduler} gave it to {first.name} and {second.name} "
        f"from version {second.from_rv}",
        text=f"Scheduler {scheduler} allocated device {first.device} to claim "
        f"{first} at resourceVersion {first.from_rv}, and to claim {second} at resourceVersion "
        f"{second.from_rv}, while the first still held it; no other scheduler had it since it was "
        "last free",
        versions=(first.from_rv, second.from_rv),
        objects=[first.involved, second.involved],
    )
