"""The check of allocations: what was allocated stays until it is freed.

The API says: "Allocation is set once the claim has been allocated successfully"
(`ResourceClaimStatus.allocation`, resource.k8s.io/v1), and its validation calls the field immutable
once it is set: a write may set it or clear it, but not replace it. A scheduler that has seen the
first allocation relies on it until it sees the claim without one.

Everything in the allocation counts: devices, shares, consumed capacities, admin access, and the
node selector. Its time does not (`allocationTimestamp`, which kube-scheduler 1.36.2 adds with the
reservation), nor does what a driver reports about devices (`status.devices`).
"""

from collections.abc import Iterator

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import claim_versions, observed_claims


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with all allocations that became others, VALID without any."""
    pairs = list(_changes(evidence[claim_versions.ClaimVersions]))
    found = [
        _finding(now, before.allocation, now.allocation)
        for before, now in pairs
        if before is not None and before.allocation is not None and now.allocation is not None
    ]
    return findings.answer(CHECK, examined=len(pairs), what="changes of allocations", found=found)


CHECK = protocol.Check(
    name="allocation_stability",
    guarantee="R",
    promise="an allocation stays as it is until it is freed",
    applies=plan_facts.owes_claims,
    needs=(claim_versions.ClaimVersions,),
    judge=judge,
)


def _changes(
    claims: claim_versions.ClaimVersions,
) -> Iterator[tuple[claim_versions.Version | None, claim_versions.Version]]:
    """Yield the versions in which a claim got, lost or changed its allocation."""
    for before, now in claims.pairs():
        if not now.is_gone and now.allocation != (before.allocation if before else None):
            yield before, now


def _finding(
    now: claim_versions.Version,
    before: observed_claims.Allocation,
    after: observed_claims.Allocation,
) -> findings.Finding:
    was, became = _told(before), _told(after)
    contrast = became if became != was else "the same devices with other details"
    lost = [item for item in before.devices.results if item not in after.devices.results]
    got = [item for item in after.devices.results if item not in before.devices.results]
    return findings.Finding(
        summary=f"the allocation of claim {now.claim.name} was replaced",
        text=f"Claim {now.claim} was allocated {was}, and at resourceVersion {now.rv} {contrast}, "
        "without having been freed",
        versions=(now.rv,),
        objects=(now.claim.involved,),
        weight=len(lost) + len(got),
    )


def _told(allocation: observed_claims.Allocation) -> str:
    names = [
        item.id + f" (share {item.share})" * bool(item.share) + _ADMIN * bool(item.admin_access)
        for item in allocation.devices.results
    ]
    return ", ".join(names) or "no device"


_ADMIN = " with admin access"
