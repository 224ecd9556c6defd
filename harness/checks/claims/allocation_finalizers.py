"""The check of finalizers: no version of a claim is allocated without delete-protection.

KEP-4381 says: "The scheduler must set a finalizer in a ResourceClaim before it adds an allocation.
This ensures that an allocated, reserved claim cannot be removed accidentally by a user." The
finalizer is `resource.kubernetes.io/delete-protection`. It is removed after the allocation; without
it, the allocation of a deleted claim vanishes while its devices may be in use.

The API server keeps the other half of the promise: it removes no object that has a finalizer.
kube-apiserver breaks it if the finalizer is stored while it deletes the claim (hypothesis H20).
Other checks do not count what comes of it. It is a violation where the API server is our own, which
does so only as a fault, or where a script asks about it, and the claim is allocated by then. On
other clusters it is not the subject's fault: the reason counts such claims and names the first.

A scheduler that gives up a pod deletes the claim that it made for the pod's extended resources,
after its finalizer. So of these claims, only the version is examined that allocates them.
"""

import itertools
from collections.abc import Sequence

import msgspec

from harness.checks import protocol, verdicts
from harness.checks.claims import claim_lives, findings

CHECK = protocol.Check(
    name=findings.FINALIZERS,
    guarantee="R",
    promise="no claim is allocated without its finalizer",
    applies=findings.owes,
    needs=(claim_lives.ClaimLives,),
    judge=lambda evidence: check(
        evidence[claim_lives.ClaimLives], blames_server=findings.blames_server(evidence.plan)
    ),
)


def check(lives: claim_lives.ClaimLives, *, blames_server: bool = True) -> verdicts.Answer:
    """Return INVALID with all claims that were allocated without it, VALID without any.

    `blames_server`: those that were removed in spite of it are violations, too.
    """
    ordered = sorted(lives.bare, key=lambda item: item.claim.uid)
    groups = itertools.groupby(ordered, key=lambda item: item.claim.uid)
    found = [_finding(list(versions)) for _, versions in groups]
    counted = [item for item in lives.removed if blames_server and item.is_allocated]
    found += map(_removal, counted)
    answer = findings.answer(
        CHECK,
        examined=lives.allocated_versions,
        what="versions of allocated claims",
        found=found,
    )
    others = [item for item in lives.removed if item not in counted]
    if not others or not isinstance(answer, verdicts.CheckResult):
        return answer
    return msgspec.structs.replace(answer, reason=f"{answer.reason}; {_told(others)}")


def _told(removed: Sequence[claim_lives.Removed]) -> str:
    """Return what the API server did with claims; nothing of it counts as a violation."""
    allocated = [item for item in removed if item.is_allocated]
    begin = "claims that the API server removed in spite of their finalizers, "
    parts = [f"unallocated: {len(removed) - len(allocated)}"]
    if allocated:
        first = allocated[0]
        versions = f"stored at {first.since_version}, removed at {first.version}"
        parts.insert(0, f"allocated: {len(allocated)} (H20), the first {first.claim}, {versions}")
    return begin + "; ".join(parts)


def _finding(versions: Sequence[claim_lives.Bare]) -> findings.Finding:
    first, last = versions[0], versions[-1]
    end = ", and was deleted with its allocation" if last.is_gone else ""
    return findings.Finding(
        summary=f"claim {first.claim.name} was allocated without its finalizer",
        text=f"Claim {first.claim} was allocated without the finalizer {claim_lives.FINALIZER} in "
        f"{verdicts.counted(len(versions), 'version')}, from resourceVersion {first.version} to "
        f"{last.version}{end}",
        versions=(first.version, last.version),
        objects=(verdicts.involved_claim(first.claim),),
        weight=len(versions),
    )


def _removal(item: claim_lives.Removed) -> findings.Finding:
    return findings.Finding(
        summary=f"the API server removed claim {item.claim.name} although its finalizer was stored "
        "(H20, a finalizer that a deletion does not see)",
        text=f"Claim {item.claim} had the finalizer {', '.join(item.finalizers)} from "
        f"resourceVersion {item.since_version}, and the API server removed it at {item.version}, "
        "without waiting until the finalizer was taken away",
        versions=(item.since_version, item.version),
        objects=(verdicts.involved_claim(item.claim),),
    )
