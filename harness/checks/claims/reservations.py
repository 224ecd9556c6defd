"""The check of reservations: only allocated claims are reserved, and only for their own pods.

The API says of `status.reservedFor`: "ReservedFor indicates which entities are currently allowed to
use the claim … There can be at most 256 such reservations"; it may not be set without an
allocation. A reservation names a pod by its UID, because a name can be reborn: it must be the UID
of a pod that exists or existed in the namespace of the claim, with this name. The pod's spec names
the claim, or the claim was generated for the pod: then the pod controls it. The same holds for
PodGroups, for which the claims of their specs are reserved instead of for their pods.

All versions of all claims are examined. Pods that the recorder cannot know, because the watch of
pods had a gap, and consumers of other kinds are not.
"""

from collections.abc import Iterator

from harness.checks import protocol, verdicts
from harness.checks.claims import claim_lives, findings, group_lives, pod_lives
from harness.checks.observed import observed_claims
from harness.history import plans

RESERVATIONS_MAX = claim_lives.RESERVATIONS_MAX
_PODS = "pods"


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe the guarantee."""
    return findings.owes(plan) or plan.requirements.reservations_min > 0


CHECK = protocol.Check(
    name="claim_reservations",
    guarantee="R",
    promise=f"claims are reserved while allocated, for at most {RESERVATIONS_MAX} pods that name them",
    applies=applies,
    needs=(claim_lives.ClaimLives, pod_lives.PodLives, group_lives.GroupLives),
    judge=lambda evidence: check(
        evidence[claim_lives.ClaimLives],
        evidence[pod_lives.PodLives],
        evidence[group_lives.GroupLives],
    ),
)


def check(
    lives: claim_lives.ClaimLives,
    pods: pod_lives.PodLives,
    groups: group_lives.GroupLives | None = None,
) -> verdicts.Answer:
    """Return INVALID with all claims and reservations that break a rule, VALID without any."""
    found = [
        *_excesses(lives),
        *_unallocated(lives),
        *_wrong_pods(lives, pods),
        *(_wrong_groups(lives, groups) if groups is not None else ()),
    ]
    return findings.answer(
        CHECK,
        examined=lives.reserved_versions,
        what=f"versions of reserved claims, with at most {_reserved(lives.most)}",
        found=found,
    )


def _excesses(lives: claim_lives.ClaimLives) -> Iterator[findings.Finding]:
    for versions in lives.excesses.values():
        claim, first, _ = versions[0]
        most, last = max(item[2] for item in versions), versions[-1][1]
        yield findings.Finding(
            summary=f"claim {claim.name} was reserved for {most} pods at once",
            text=f"Claim {claim} was reserved for up to {most} pods at once, {RESERVATIONS_MAX} are "
            f"allowed, in {verdicts.counted(len(versions), 'version')} from resourceVersion {first} "
            f"to {last}",
            versions=(first, last),
            objects=(verdicts.involved_claim(claim),),
            weight=most,
        )


def _unallocated(lives: claim_lives.ClaimLives) -> Iterator[findings.Finding]:
    for item in lives.unallocated:
        count = _reserved(item.count)
        yield findings.Finding(
            summary=f"claim {item.claim.name} was reserved without an allocation",
            text=f"Claim {item.claim} had {count} at resourceVersion {item.version}, but no "
            "allocation",
            versions=(item.version,),
            objects=(verdicts.involved_claim(item.claim),),
            weight=item.count,
        )


def _reserved(count: int) -> str:
    return verdicts.counted(count, "reservation")


def _wrong_pods(
    lives: claim_lives.ClaimLives, pods: pod_lives.PodLives
) -> Iterator[findings.Finding]:
    for item in lives.reservations:
        why = _refusal(item, pods) if _is_pod(item.consumer, pods) else ""
        if why:
            pod = pods.pods.get(item.consumer.uid)
            objects = [verdicts.involved_claim(item.claim), *([pod.involved] if pod else ())]
            yield findings.Finding(
                summary=f"claim {item.claim.name} was reserved for a pod that {why}",
                text=f"Claim {item.claim} was reserved at resourceVersion {item.from_version} for "
                f"pod {item.consumer.name} (uid {item.consumer.uid}), that {why}",
                versions=(item.from_version,),
                objects=objects,
            )


def _wrong_groups(
    lives: claim_lives.ClaimLives, groups: group_lives.GroupLives
) -> Iterator[findings.Finding]:
    for item in lives.reservations:
        is_known = group_lives.is_group(item.consumer) and groups.is_complete
        why = _refusal_of_group(item, groups.groups.get(item.consumer.uid)) if is_known else ""
        if why:
            yield findings.Finding(
                summary=f"claim {item.claim.name} was reserved for a PodGroup that {why}",
                text=f"Claim {item.claim} was reserved at resourceVersion {item.from_version} for "
                f"PodGroup {item.consumer.name} (uid {item.consumer.uid}), that {why}",
                versions=(item.from_version,),
                objects=[verdicts.involved_claim(item.claim)],
            )


def _refusal_of_group(item: claim_lives.Reservation, group: group_lives.GroupLife | None) -> str:
    """Return why the group of a reservation is a wrong one; empty if nothing speaks against it."""
    if group is None:
        return "never existed"
    if (group.namespace, group.name) != (item.claim.namespace, item.consumer.name):
        return f"is {group.namespace}/{group.name}"
    is_user = item.claim.name in group.named or item.claim.owner == group.uid
    return "" if is_user else "does not name it"


def _is_pod(consumer: observed_claims.Consumer, pods: pod_lives.PodLives) -> bool:
    return (consumer.resource, consumer.api_group) == (_PODS, "") or consumer.uid in pods.pods


def _refusal(item: claim_lives.Reservation, pods: pod_lives.PodLives) -> str:
    """Return why the pod of a reservation is a wrong one; empty if nothing speaks against it."""
    pod = pods.pods.get(item.consumer.uid)
    if pod is None:
        return _absence(item, pods) if pods.is_complete else ""
    if pod.namespace != item.claim.namespace:
        return f"is in namespace {pod.namespace}"
    if pod.name != item.consumer.name:
        return f"has the name {pod.name}"
    kind = item.consumer.resource, item.consumer.api_group
    if kind != (_PODS, ""):
        return f"is a pod, but was named as {'.'.join(filter(None, kind))}"
    return "" if _uses(pod, item.claim) else "does not name it"


def _absence(item: claim_lives.Reservation, pods: pod_lives.PodLives) -> str:
    others = [pod.uid for pod in pods.named(item.claim.namespace, item.consumer.name)]
    return (
        f"never existed: pods of this name had uid {', '.join(others)}"
        if others
        else ("never existed")
    )


def _uses(pod: pod_lives.PodLife, claim: claim_lives.ClaimName) -> bool:
    return claim.name in pod.named or claim.owner == pod.uid
