"""Names the schedulers behind each double allocation, in runs with several of them."""

import dataclasses

import msgspec

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.schedulers import scheduler_identities

ISSUE = "kubernetes#128980"


@dataclasses.dataclass(frozen=True, slots=True)
class Attributor:
    """Attributes the double allocations of one run to its schedulers."""

    folded: hold_history.HoldHistory
    schedulers: scheduler_identities.SchedulersOfHolds | None
    """None: there is only one."""
    are_elected: bool = False
    """Only one of the schedulers may schedule at a time, the leader."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Attributor":
        plan, folded = evidence.plan, evidence[hold_history.HoldHistory]
        if not scheduler_identities.are_several(plan):
            return cls(folded, None)
        is_elected = bool(plan_facts.part(plan, "subject").get("leader_election"))
        return cls(folded, evidence[scheduler_identities.SchedulersOfHolds], is_elected)

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
        schedulers: scheduler_identities.SchedulersOfHolds,
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
