"""The check of claims that stay prepared: at rest, only claims of pods that still run are.

Kubelets unprepare the claims of a pod before its deletion is finished or its end is reported. So
the claims of pods that are gone must not be prepared when the run has come to rest. Not judged in
runs in which the driver is slow or fails, pods are deleted by force, or a node is lost: unpreparing
may come late there, or never.
"""

from harness.checks import findings, plan_facts, protocol, verdicts, world_states
from harness.checks.nodes import preparations
from harness.checks.progress import claim_progress
from harness.history import plans


def applies(plan: plans.Plan) -> bool:
    """Return whether all claims of a run with this plan are unprepared in time."""
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


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    """Return INVALID with the claims that stay prepared, UNKNOWN if none was prepared at all.

    UNKNOWN also for a run that was not brought to its rest.
    """
    reading, final = evidence[preparations.Reading], evidence[world_states.WorldState]
    prepared, phases = [*reading.prepared, *reading.kept], evidence.phases
    early = next((item for item in phases if item.name in claim_progress.UNFINISHED), None)
    unless = "" if prepared else "no claim was prepared, so nothing was examined"
    if early:
        unless = f"the run did not come to its rest ({early.name}: {early.detail})"
    left = [] if early else [item for item in prepared if not _may_be_prepared(item, final)]
    return findings.judged(
        CHECK,
        [_finding(item) for item in left],
        examined=len(prepared),
        good=f"preparations: {len(prepared)}; none is left without its pod",
        unless=unless,
    )


CHECK = protocol.Check(
    name="leftover_preparations",
    guarantee="L",
    promise="at rest, no claim is prepared on a node for a pod that is gone",
    applies=applies,
    needs=(preparations.Reading, world_states.WorldState),
    judge=judge,
    at_rest=True,
)


def _may_be_prepared(item: preparations.Preparation, final: world_states.WorldState) -> bool:
    """Return whether a claim is unprepared, or a pod that has not ended uses it."""
    if item.until_ns is not None:
        return True
    claim = final.claims.get(item.uid)
    users = claim.status.reserved_for or () if claim else ()
    pods = (final.pods.get(user.uid) for user in users)
    return any(pod is not None and not pod.has_ended for pod in pods)


def _finding(item: preparations.Preparation) -> findings.Finding:
    claim = f"{item.namespace}/{item.name} (uid {item.uid})"
    return findings.Finding(
        summary=f"claim {item.name} is still prepared on {item.node}",
        text=f"Claim {claim} is still prepared on node {item.node}, although no pod that runs uses "
        "it",
        objects=[verdicts.involved_claim(item)],
    )
