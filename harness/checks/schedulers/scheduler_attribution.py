"""The schedulers of a run by name, and which of them made an allocation or a double one.

The API server writes the manager of each field into `metadata.managedFields`. Schedulers with equal
managers can be distinguished by the pods for which they allocated, if their names differ.
"""

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations
from harness.history import plans
from harness.model import naming

ISSUE = "kubernetes#128980"
AllocationKey: TypeAlias = tuple[str, int]
"""Uid of a claim, and the resourceVersion that allocated it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWriter:
    """The writer of an allocation, as the API server names it."""

    manager: str
    """Field manager of `status.allocation`; empty: unknown."""
    pods: tuple[str, ...]
    """Uids of the pods that the claim was reserved for in the same version."""


class AllocationWriters(folders.Folder):
    """The writers of all allocations."""

    def __init__(self) -> None:
        self.by_allocation: dict[AllocationKey, AllocationWriter] = {}
        self.first_seen: dict[str, int] = {}
        """Uid of a claim -> its first resourceVersion."""
        self.scheduler_names: dict[str, str] = {}
        """Uid of a pod -> its `spec.schedulerName`."""
        self._allocated: set[str] = set()
        """Uids of the claims that are allocated now."""

    def see_pod(self, seen: observations.SeenPod) -> None:
        if not seen.is_gone:
            self.scheduler_names[seen.object.metadata.uid] = seen.object.spec.scheduler_name

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note who has allocated a claim, if that is new."""
        if seen.is_gone:
            return
        uid, status = seen.object.metadata.uid, seen.object.status
        self.first_seen.setdefault(uid, seen.version)
        if status.allocation is None:
            self._allocated.discard(uid)
        elif uid not in self._allocated:
            self._allocated.add(uid)
            pods = tuple(item.uid for item in status.reserved_for or ())
            writer = AllocationWriter(manager=seen.object.manager, pods=pods)
            self.by_allocation[uid, seen.version] = writer


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
    """Return the schedulers of a plan in their order; empty if it names none."""
    listed = plan_facts.part(plan, "subject").get("schedulers", ())
    names = [item.get("scheduler_name", "") for item in listed]
    return [SchedulerIdentity(naming.scheduler(index), name) for index, name in enumerate(names)]


def are_several(plan: plans.Plan) -> bool:
    return len(planned(plan)) > 1


class SchedulersOfHolds:
    """Finds the scheduler that allocated the device of a hold."""

    NEEDS = (AllocationWriters,)

    def __init__(
        self,
        schedulers: Sequence[SchedulerIdentity] = (),
        writers: AllocationWriters | None = None,
    ) -> None:
        """`schedulers` of the plan; `writers` None: nothing is known about allocations."""
        self._planned = schedulers
        self._writers = writers or AllocationWriters()
        self._by_process = {item.process: item for item in self._planned}

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "SchedulersOfHolds":
        """Return the schedulers of the plan, with the allocations that were observed."""
        return cls(planned(evidence.plan), evidence[AllocationWriters])

    def of(self, hold: hold_history.Hold) -> SchedulerIdentity | None:
        """Return the scheduler that made an allocation; None if the evidence does not show it."""
        writer = self._writers.by_allocation.get((hold.uid, hold.from_rv))
        if writer is None:
            return None
        return self._by_manager(writer.manager) or self._by_pods(writer.pods)

    def first_seen(self, hold: hold_history.Hold) -> int:
        """Return the first resourceVersion of the hold's claim that was observed."""
        return self._writers.first_seen.get(hold.uid, hold.from_rv)

    def _by_manager(self, manager: str) -> SchedulerIdentity | None:
        process = naming.process_of(manager)
        first = self._by_process.get(naming.first_incarnation(process))
        return SchedulerIdentity(process, first.name) if first else None

    def _by_pods(self, pods: Sequence[str]) -> SchedulerIdentity | None:
        """Return the scheduler that the pods name, if no other one has this name."""
        named = {self._writers.scheduler_names.get(uid, "") for uid in pods}
        found = [item for item in self._planned if item.name in named]
        return found[0] if len(found) == 1 else None


@dataclasses.dataclass(frozen=True, slots=True)
class Attributor:
    """Attributes the double allocations of one run to its schedulers."""

    folded: hold_history.HoldHistory
    schedulers: SchedulersOfHolds | None
    """None: there is only one."""
    are_elected: bool = False
    """Only one of the schedulers may schedule at a time, the leader."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Attributor":
        plan, folded = evidence.plan, evidence[hold_history.HoldHistory]
        if not are_several(plan):
            return cls(folded, None)
        is_elected = bool(plan_facts.part(plan, "subject").get("leader_election"))
        return cls(folded, evidence[SchedulersOfHolds], is_elected)

    def review(self, check: protocol.Check, answer: verdicts.CheckResult) -> verdicts.CheckResult:
        """Return an answer whose double allocations have a sentence about their schedulers."""
        del check
        schedulers = self.schedulers
        if schedulers is None:
            return answer
        violations = [
            self._attributed(item, schedulers)
            if isinstance(item, verdicts.DoubleAllocation)
            else item
            for item in answer.violations
        ]
        return msgspec.structs.replace(answer, violations=violations)

    def _attributed(
        self,
        violation: verdicts.DoubleAllocation,
        schedulers: SchedulersOfHolds,
    ) -> verdicts.DoubleAllocation:
        by_key = {
            (hold.uid, hold.from_rv): hold for hold in self.folded.holds.of_device(violation.device)
        }
        found = [
            schedulers.of(by_key[holder.uid, holder.held_from_rv]) for holder in violation.holders
        ]
        holders = [
            msgspec.structs.replace(holder, scheduler=str(item) if item else "")
            for holder, item in zip(violation.holders, found, strict=True)
        ]
        text = sentence(holders, are_elected=self.are_elected)
        return msgspec.structs.replace(violation, holders=holders, schedulers=text)


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
