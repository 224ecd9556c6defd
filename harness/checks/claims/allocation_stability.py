"""The check of allocations: what was allocated stays until it is freed.

The API says: "Allocation is set once the claim has been allocated successfully"
(`ResourceClaimStatus.allocation`, resource.k8s.io/v1), and its validation calls the field immutable
once it is set: a write may set it or clear it, but not replace it. A scheduler that has seen the
first allocation relies on it until it sees the claim without one.

Everything in the allocation counts: devices, shares, consumed capacities, admin access, and the
node selector. Its time does not (`allocationTimestamp`, which kube-scheduler 1.36.2 adds with the
reservation), nor does what a driver reports about devices (`status.devices`).
"""

from harness.checks import protocol, verdicts
from harness.checks.claims import claim_lives, findings
from harness.checks.observed import observed_claims

CHECK = protocol.Check(
    name="allocation_stability",
    guarantee="R",
    promise="an allocation stays as it is until it is freed",
    applies=findings.owes,
    needs=(claim_lives.ClaimLives,),
    judge=lambda evidence: check(evidence[claim_lives.ClaimLives]),
)


def check(lives: claim_lives.ClaimLives) -> verdicts.Answer:
    """Return INVALID with all allocations that became others, VALID without any."""
    found = [_finding(move) for move in lives.moves]
    return findings.answer(
        CHECK, examined=lives.changes, what="changes of allocations", found=found
    )


def _finding(move: claim_lives.Move) -> findings.Finding:
    before, after = _told(move.before), _told(move.after)
    return findings.Finding(
        summary=f"the allocation of claim {move.claim.name} was replaced",
        text=f"Claim {move.claim} was allocated {before}, and at resourceVersion {move.version} "
        f"{_contrast(before, after)}, without having been freed",
        versions=(move.version,),
        objects=(verdicts.involved_claim(move.claim),),
        weight=_differing(move),
    )


def _contrast(before: str, after: str) -> str:
    return after if after != before else "the same devices with other details"


def _told(allocation: observed_claims.Allocation) -> str:
    names = [_result(item) for item in allocation.devices.results]
    return ", ".join(names) or "no device"


def _result(item: observed_claims.AllocationResult) -> str:
    share = f" (share {item.share})" if item.share else ""
    return item.id + share + " with admin access" * bool(item.admin_access)


def _differing(move: claim_lives.Move) -> int:
    """Return how many results of one allocation the other does not have."""
    before, after = move.before.devices.results, move.after.devices.results
    return sum(item not in after for item in before) + sum(item not in before for item in after)
