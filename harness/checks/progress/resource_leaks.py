"""The check of leaks: at rest, no claim, allocation or reservation is kept for a pod that is gone.

The API says of generated claims: "When this pod is deleted, the ResourceClaim will also be
deleted", and of `status.reservedFor` that it "indicates which entities are currently allowed to use
the claim". At the end, when nothing has moved for the plan's `progress_s`:

- no claim that was generated for a pod outlives it, nor a deletion of a claim its finalizers;
- no claim is allocated that no pod uses or waits for;
- no claim is reserved for a pod that is gone or has ended, not even beside pods that run.

A bare API server has no garbage collector: claims without a reservation stay when their pods are
gone. They are not leaked by the subject; the reason counts them. A plan says if its cluster is
known to have one; on a cluster that was there before, the run finds out.

Not leaked, either, are claims of pods of which the API server removed another claim in spite of
its finalizer.

Claims that stay prepared on nodes are in `leftover_preparations`. A run that ends in the midst of
its load is not examined.
"""

import dataclasses

import msgspec

from harness import errors
from harness.checks import findings, protocol, verdicts, world_states
from harness.checks.holds import hold_history
from harness.checks.progress import claim_progress, leaked_claims
from harness.history import files, histories

WORKS, FAILS = "garbage is collected", "garbage is not collected"
"""Phases of a run that has found out whether its cluster collects garbage."""
COLLECTOR = "kube-controller-manager"


@dataclasses.dataclass(frozen=True, slots=True)
class GarbageCollection:
    """A cluster that is known to remove claims of pods that are gone, or not to."""

    works: bool = True

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "GarbageCollection":
        """Decide it from the plan, the phases and the versions of the run."""
        plan, history = evidence.plan, evidence.history
        found = [phase.name for phase in evidence.phases if phase.name in (WORKS, FAILS)]
        if plan.collects_garbage is not None:
            return cls(plan.collects_garbage)
        if found:
            return cls(found[-1] == WORKS)
        if plan.cluster == "local":  # plans of older versions do not say it
            return cls(COLLECTOR in _versions(history))
        return cls(plan.cluster != "kubeconfig")


class _Cluster(msgspec.Struct):
    versions: dict[str, str] = {}


def _versions(history: histories.History) -> dict[str, str]:
    """Return the versions of the cluster's programs by name; empty if they cannot be read."""
    try:
        content = files.read_small(history.directory.cluster)
        return msgspec.json.decode(content, type=_Cluster).versions
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError):
        return {}


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
        CHECK, wrong, examined=examined, reason=unless or reason, is_kept=not unless
    )


CHECK = protocol.Check(
    name="resource_leaks",
    guarantee="L",
    promise="at rest, no claim is kept, allocated or reserved for a pod that is gone",
    applies=claim_progress.applies,
    needs=(world_states.WorldState, hold_history.HoldHistory, GarbageCollection),
    judge=judge,
    at_rest=True,
)
