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

Claims that stay prepared on nodes are in `leftover_preparations`, and those that stay in flight in
the scheduler's books in `scheduler_books`. A run that ends in the midst of its load is not
examined.
"""

from collections.abc import Sequence

from harness.checks import check_results, protocol, verdicts, world_states
from harness.checks.holds import hold_history
from harness.checks.progress import claim_progress, garbage_collection, stuck_objects


def check(evidence: protocol.Evidence) -> verdicts.Answer:
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
    found = stuck_objects.find(evidence[world_states.WorldState], evidence.plan.settings).stuck
    garbage = (
        []
        if evidence[garbage_collection.GarbageCollection].works
        else [item for item in found if item.is_garbage]
    )
    leaks = [item for item in found if item.is_leak and not (garbage and item.is_garbage)]
    allowed_s = evidence.plan.progress_s or 0.0
    if not leaks:
        reason = f"claims: {examined}, of which {len(final.claims)} remain; nothing is leaked"
        if garbage:
            reason += f", apart from {len(garbage)} that this cluster is not known to collect"
        return _result(verdicts.Verdict.VALID, examined, reason)
    if rest_s < allowed_s:
        early = claim_progress.told_early(leaks, rest_s, allowed_s)
        return _result(verdicts.Verdict.UNKNOWN, examined, early)
    return _result(verdicts.Verdict.INVALID, examined, _told(leaks, rest_s), leaks, rest_s)


def _told(leaks: Sequence[stuck_objects.Stuck], rest_s: float) -> str:
    others = f", and {len(leaks) - 1} more" * (len(leaks) > 1)
    return f"{leaks[0].summary}{others}; nothing has moved for {rest_s:.1f} s"


def _result(
    verdict: verdicts.Verdict,
    examined: int,
    reason: str,
    leaks: Sequence[stuck_objects.Stuck] = (),
    rest_s: float = 0.0,
) -> verdicts.CheckResult:
    return check_results.of_found(
        CHECK,
        leaks,
        verdict=verdict,
        examined_count=examined,
        violation=lambda item: claim_progress.violation(
            CHECK.name,
            item,
            summary=item.summary,
            text=f"{item.text}. Nothing has moved for {rest_s:.1f} s.",
        ),
        summary=lambda item: item.summary,
        reason=reason,
    )


CHECK = protocol.Check(
    name="resource_leaks",
    guarantee="L",
    promise="at rest, no claim is kept, allocated or reserved for a pod that is gone",
    applies=claim_progress.applies,
    needs=(world_states.WorldState, hold_history.HoldHistory, garbage_collection.GarbageCollection),
    judge=check,
    at_rest=True,
)
