"""The check of leaks: at rest, no claim, allocation or reservation is kept for a pod that is gone.

The API says of generated claims: "When this pod is deleted, the ResourceClaim will also be
deleted", and of `status.reservedFor` that it "indicates which entities are currently allowed to use
the claim". At the end, when nothing has moved for the plan's `progress_s`:

- no claim that was generated for a pod outlives it, nor a deletion of a claim its finalizers;
- no claim is allocated that no pod uses or waits for;
- no claim is reserved for a pod that is gone or has ended, not even beside pods that run.

On a cluster without a garbage collector, claims without a reservation stay when their pods are
gone. They are not leaked by the subject; the reason counts them. Nor are claims of pods of which
the API server removed another claim in spite of its finalizer.

Claims that stay prepared on nodes are in `leftover_preparations`. A run that ends in the midst of
its load is not examined.
"""

from harness.checks import findings, protocol, verdicts, world_states
from harness.checks.holds import hold_history
from harness.checks.progress import claim_progress, garbage_collection, leaked_claims


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with all leaks, VALID without any.

    UNKNOWN if leaks had too little time to go. Not examined if the run was not brought to its rest,
    or had no claims.
    """
    final = evidence[world_states.WorldState]
    examined = len(evidence[hold_history.HoldHistory].claims)
    try:
        rest_s = claim_progress.still_s(evidence)
    except claim_progress.Unjudgeable as why:
        return CHECK.not_examined(str(why))
    if not examined:
        return CHECK.not_examined("no claim was observed")
    found, unless = leaked_claims.find(final).stuck, ""
    is_collected = evidence[garbage_collection.GarbageCollection].works
    leaks = [item for item in found if is_collected or not item.is_garbage]
    if leaks and rest_s < (evidence.plan.progress_s or 0.0):
        unless, leaks = claim_progress.told_early(leaks, rest_s, evidence.plan), []
    reason = f"claims: {examined}, of which {len(final.claims)} remain; nothing is leaked"
    if found:
        reason += f", apart from {len(found)} that this cluster is not known to collect"
    reason = claim_progress.told_stuck(leaks, rest_s, still="nothing has moved") or reason
    wrong = [item.finding(rest_s, still="Nothing has moved") for item in leaks]
    return findings.result(
        CHECK, wrong, examined=examined, reason=unless or reason, is_kept=not unless
    )


CHECK = protocol.Check(
    name="resource_leaks",
    guarantee="L",
    promise="at rest, no claim is kept, allocated or reserved for a pod that is gone",
    applies=claim_progress.applies,
    needs=(world_states.WorldState, hold_history.HoldHistory, garbage_collection.GarbageCollection),
    judge=judge,
    at_rest=True,
)
