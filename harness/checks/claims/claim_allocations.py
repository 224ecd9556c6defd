"""The checks of allocations: they stay until they are freed, and no claim has one unprotected.

The API says: "Allocation is set once the claim has been allocated successfully"
(`ResourceClaimStatus.allocation`, resource.k8s.io/v1), and its validation calls the field immutable
once it is set: a write may set it or clear it, but not replace it. A scheduler that has seen the
first allocation relies on it until it sees the claim without one. Everything in the allocation
counts: devices, shares, consumed capacities, admin access, and the node selector. Its time does not
(`allocationTimestamp`, which kube-scheduler 1.36.2 adds with the reservation), nor does what a
driver reports about devices (`status.devices`).

KEP-4381 says: "The scheduler must set a finalizer in a ResourceClaim before it adds an allocation.
This ensures that an allocated, reserved claim cannot be removed accidentally by a user." It is
removed after the allocation; without it, the allocation of a deleted claim vanishes while its
devices may be in use. A scheduler that gives up a pod deletes the claim that it made for the pod's
extended resources, after its finalizer: of these, only the version is examined that allocates them.

The API server keeps the other half of the promise: it removes no object that has a finalizer.
kube-apiserver breaks it if the finalizer is stored while it deletes the claim (hypothesis H20).
Other checks do not count what comes of it. It is a violation where the API server is our own, which
does so only as a fault, or where a script asks about it, and the claim is allocated by then. On
other clusters it is not the subject's fault: the reason counts such claims and names the first.
"""

from collections.abc import Iterator, Sequence

import msgspec

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import claim_versions, observed_claims


def _judge_stability(evidence: protocol.Evidence) -> verdicts.Answer:
    pairs = [
        (before, now)
        for before, now in evidence[claim_versions.ClaimVersions].pairs()
        if not now.is_gone and now.allocation != (before.allocation if before else None)
    ]
    found = [
        _replacement(now, before.allocation, now.allocation)
        for before, now in pairs
        if before is not None and before.allocation is not None and now.allocation is not None
    ]
    return findings.answer(
        ALLOCATION_STABILITY, examined=len(pairs), what="changes of allocations", found=found
    )


ALLOCATION_STABILITY = protocol.Check(
    name="allocation_stability",
    guarantee="R",
    promise="an allocation stays as it is until it is freed",
    applies=plan_facts.owes_claims,
    needs=(claim_versions.ClaimVersions,),
    judge=_judge_stability,
)


def _replacement(
    now: claim_versions.Version,
    before: observed_claims.Allocation,
    after: observed_claims.Allocation,
) -> findings.Finding:
    was, became = _devices(before), _devices(after)
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


def _devices(allocation: observed_claims.Allocation) -> str:
    names = [
        item.id + f" (share {item.share})" * bool(item.share) + _ADMIN * bool(item.admin_access)
        for item in allocation.devices.results
    ]
    return ", ".join(names) or "no device"


_ADMIN = " with admin access"


# ---------------------------------------------------------------------------- finalizers
FINALIZER = "resource.kubernetes.io/delete-protection"


def _judge_finalizers(evidence: protocol.Evidence) -> verdicts.Answer:
    claims = evidence[claim_versions.ClaimVersions]
    blames_server = plan_facts.blames_server(evidence.plan)
    removed = sorted(_removed(claims), key=lambda item: item[1].rv)
    counted = [item for item in removed if blames_server and item[1].allocation is not None]
    answer = findings.answer(
        ALLOCATION_FINALIZERS,
        examined=sum(now.allocation is not None for now in claims),
        what="versions of allocated claims",
        found=[*_bare(claims), *(_removal(*item) for item in counted)],
    )
    others = [item for item in removed if item not in counted]
    if not others or not isinstance(answer, verdicts.CheckResult):
        return answer
    return msgspec.structs.replace(answer, reason=f"{answer.reason}; {_told(others)}")


ALLOCATION_FINALIZERS = protocol.Check(
    name=plan_facts.FINALIZERS,
    guarantee="R",
    promise="no claim is allocated without its finalizer",
    applies=plan_facts.owes_claims,
    needs=(claim_versions.ClaimVersions,),
    judge=_judge_finalizers,
)
_Removed = tuple[int, claim_versions.Version]
"""The first version with the finalizers of a claim, and the last one, removed in spite of them."""


def _bare(claims: claim_versions.ClaimVersions) -> Iterator[findings.Finding]:
    found: dict[str, list[claim_versions.Version]] = {}
    for before, now in claims.pairs():
        if now.allocation is None or FINALIZER in now.finalizers:
            continue
        is_set = before is not None and before.allocation is None and not now.is_gone
        if is_set or not now.claim.is_extended:
            found.setdefault(now.claim.uid, []).append(now)
    for versions in found.values():
        first, last = versions[0], versions[-1]
        end = ", and was deleted with its allocation" if last.is_gone else ""
        yield findings.about(
            first.claim,
            "was allocated without its finalizer",
            f"was allocated without the finalizer {FINALIZER} in "
            f"{verdicts.counted(len(versions), 'version')}, from resourceVersion {first.rv} to "
            f"{last.rv}{end}",
            versions=(first.rv, last.rv),
            weight=len(versions),
        )


def _removed(claims: claim_versions.ClaimVersions) -> Iterator[_Removed]:
    since: dict[str, int] = {}
    for before, now in claims.pairs():
        if before is None or not before.finalizers:
            since.pop(now.claim.uid, None)
        if now.finalizers and not now.is_gone:
            since.setdefault(now.claim.uid, now.rv)
        if now.ignored:
            yield since.get(now.claim.uid, now.rv), now


def _told(removed: Sequence[_Removed]) -> str:
    allocated = [item for item in removed if item[1].allocation is not None]
    parts = [f"unallocated: {len(removed) - len(allocated)}"]
    if allocated:
        since, now = allocated[0]
        versions = f"stored at {since}, removed at {now.rv}"
        parts.insert(0, f"allocated: {len(allocated)} (H20), the first {now.claim}, {versions}")
    return f"claims that the API server removed in spite of their finalizers, {'; '.join(parts)}"


def _removal(since: int, now: claim_versions.Version) -> findings.Finding:
    return findings.Finding(
        summary=f"the API server removed claim {now.claim.name} although its finalizer was stored "
        "(H20, a finalizer that a deletion does not see)",
        text=f"Claim {now.claim} had the finalizer {', '.join(now.ignored)} from "
        f"resourceVersion {since}, and the API server removed it at {now.rv}, "
        "without waiting until the finalizer was taken away",
        versions=(since, now.rv),
        objects=(now.claim.involved,),
    )
