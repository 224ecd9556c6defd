"""The checks of leaks: at rest, nothing is kept, reserved or prepared for a pod that is gone.

The API says of generated claims: "When this pod is deleted, the ResourceClaim will also be
deleted", and of `status.reservedFor` that it "indicates which entities are currently allowed to use
the claim". At the end, when nothing has moved for the plan's `progress_s`:

- no claim that was generated for a pod outlives it, nor a deletion of a claim its finalizers;
- no claim is allocated that no pod uses or waits for;
- no claim is reserved for a pod that is gone or has ended, not even beside pods that run.

A bare API server has no garbage collector: claims without a reservation stay when their pods are
gone. They are not leaked by the subject; the reason counts them. A plan says if its cluster is
known to have one; on a cluster that was there before, the run finds out. Not leaked, either, are
claims of pods of which the API server removed another claim in spite of its finalizer. A run that
ends in the midst of its load is not examined.

Kubelets unprepare the claims of a pod before its deletion is finished or its end is reported. So
the claims of pods that are gone must not be prepared when the run has come to rest. Not judged in
runs in which the driver is slow or fails, pods are deleted by force, or a node is lost: unpreparing
may come late there, or never.
"""

import dataclasses

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.progress import claim_progress, stuck_objects, world_states
from harness.history import plans


def _are_unprepared_in_time(plan: plans.Plan) -> bool:
    driver = plan_facts.part(plan, "driver")
    call = driver.get("unprepare") or {}
    slow = call.get("delay_s") or call.get("failure_probability") or call.get("blocked_s")
    return bool(
        plan.progress_s is not None
        and plan.expected_preparations
        and not plan_facts.part(plan, "traffic").get("force_delete")
        and not any(plan_facts.kind_of(fault).loses_node for fault in plan.faults)
        and not slow
        and not driver.get("termination_s")
    )


def _judge_preparations(evidence: protocol.Evidence) -> verdicts.CheckResult:
    reading, final = evidence[preparations.Reading], evidence[world_states.WorldState]
    prepared, phases = [*reading.prepared, *reading.kept], evidence.phases
    early = next((item for item in phases if item.name in claim_progress.UNFINISHED), None)
    unless = "" if prepared else "no claim was prepared, so nothing was examined"
    if early:
        unless = f"the run did not come to its rest ({early.name}: {early.detail})"
    left = [] if early else [item for item in prepared if not _may_be_prepared(item, final)]
    return findings.judged(
        LEFTOVER_PREPARATIONS,
        [
            findings.about(
                item,
                f"is still prepared on {item.node}",
                f"is still prepared on node {item.node}, although no pod that runs uses it",
            )
            for item in left
        ],
        examined=len(prepared),
        good=f"preparations: {len(prepared)}; none is left without its pod",
        unless=unless,
    )


LEFTOVER_PREPARATIONS = protocol.Check(
    name="leftover_preparations",
    guarantee="L",
    promise="at rest, no claim is prepared on a node for a pod that is gone",
    applies=_are_unprepared_in_time,
    needs=(preparations.Reading, world_states.WorldState),
    judge=_judge_preparations,
    at_rest=True,
)


def _may_be_prepared(item: preparations.Preparation, final: world_states.WorldState) -> bool:
    if item.until_ns is not None:
        return True
    claim = final.claims.get(item.uid)
    users = claim.status.reserved_for or () if claim else ()
    pods = (final.pods.get(user.uid) for user in users)
    return any(pod is not None and not pod.has_ended for pod in pods)


# -------------------------------------------------------------------------------- claims
WORKS, FAILS = "garbage is collected", "garbage is not collected"
"""Phases of a run that has found out whether its cluster collects garbage."""


@dataclasses.dataclass(frozen=True, slots=True)
class GarbageCollection:
    """A cluster that is known to remove claims of pods that are gone, or not to."""

    works: bool = True

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "GarbageCollection":
        plan = evidence.plan
        found = [phase.name for phase in evidence.phases if phase.name in (WORKS, FAILS)]
        if plan.collects_garbage is not None:
            return cls(plan.collects_garbage)
        if found:
            return cls(found[-1] == WORKS)
        return cls(plan.cluster not in ("kubeconfig", "local"))


def _judge_leaks(evidence: protocol.Evidence) -> verdicts.Answer:
    final = evidence[world_states.WorldState]
    examined = len(evidence[hold_history.HoldHistory].claims)
    try:
        rest_s = claim_progress.still_s(evidence)
    except claim_progress.Unjudgeable as why:
        return RESOURCE_LEAKS.not_examined(str(why))
    if not examined:
        return RESOURCE_LEAKS.not_examined("no claim was observed")
    found, unless = stuck_objects.find_claims(final).stuck, ""
    is_collected = evidence[GarbageCollection].works
    leaks = [item for item in found if is_collected or not item.is_garbage]
    if leaks and rest_s < (evidence.plan.progress_s or 0.0):
        unless, leaks = claim_progress.told_early(leaks, rest_s, evidence.plan), []
    reason = f"claims: {examined}, of which {len(final.claims)} remain; nothing is leaked"
    if found:
        reason += f", apart from {len(found)} that this cluster is not known to collect"
    reason = claim_progress.told_stuck(leaks, rest_s, still="nothing has moved") or reason
    wrong = [item.finding(rest_s, still="Nothing has moved") for item in leaks]
    return findings.result(
        RESOURCE_LEAKS, wrong, examined=examined, reason=unless or reason, is_kept=not unless
    )


RESOURCE_LEAKS = protocol.Check(
    name="resource_leaks",
    guarantee="L",
    promise="at rest, no claim is kept, allocated or reserved for a pod that is gone",
    applies=claim_progress.applies,
    needs=(world_states.WorldState, hold_history.HoldHistory, GarbageCollection),
    judge=_judge_leaks,
    at_rest=True,
)
