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

from collections.abc import Iterator, Sequence

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import claim_versions, observations, observed_claims, pod_lives
from harness.history import plans

RESERVATIONS_MAX = 256
"""Entries that the API allows in `status.reservedFor`."""
Reservation = claim_versions.Span[str]
"""The time in which a claim was reserved for a consumer, by the consumer's uid."""
_PODS, _GROUPS = (observations.PODS, ""), (observations.POD_GROUPS, "scheduling.k8s.io")


class Reservations(list[Reservation]):
    """All reservations of claims."""

    NEEDS = (claim_versions.ClaimVersions,)

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Reservations":
        """Read them from the versions of claims."""
        spans = evidence[claim_versions.ClaimVersions].spans(lambda now: now.users)
        return cls(sorted(spans, key=lambda item: item.begin.rv))


def is_group(consumer: observed_claims.Consumer) -> bool:
    """Return whether a claim is reserved for a PodGroup by this entry."""
    return (consumer.resource, consumer.api_group) == _GROUPS


def most(claims: claim_versions.ClaimVersions) -> int:
    """Return the largest number of reservations of one claim at once."""
    return max((len(now.consumers) for now in claims if not now.is_gone), default=0)


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe the guarantee."""
    return plan_facts.owes_claims(plan) or plan.requirements.reservations_min > 0


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with all claims and reservations that break a rule, VALID without any."""
    claims, pods = evidence[claim_versions.ClaimVersions], evidence[pod_lives.PodLives]
    reserved = [now for now in claims if now.consumers and not now.is_gone]
    found = [*_excesses(reserved), *_unallocated(reserved)]
    for item in evidence[Reservations]:
        found += _wrong(item, pods)
    return findings.answer(
        CHECK,
        examined=len(reserved),
        what="versions of reserved claims, with at most "
        + verdicts.counted(most(claims), "reservation"),
        found=found,
    )


CHECK = protocol.Check(
    name="claim_reservations",
    guarantee="R",
    promise=f"claims are reserved while allocated, for at most {RESERVATIONS_MAX} pods that name them",
    applies=applies,
    needs=(claim_versions.ClaimVersions, pod_lives.PodLives, Reservations),
    judge=judge,
)


def _excesses(reserved: Sequence[claim_versions.Version]) -> Iterator[findings.Finding]:
    excesses: dict[str, list[claim_versions.Version]] = {}
    for now in reserved:
        if len(now.consumers) > RESERVATIONS_MAX:
            excesses.setdefault(now.claim.uid, []).append(now)
    for versions in excesses.values():
        first, last = versions[0], versions[-1]
        count = max(len(item.consumers) for item in versions)
        yield findings.Finding(
            summary=f"claim {first.claim.name} was reserved for {count} pods at once",
            text=f"Claim {first.claim} was reserved for up to {count} pods at once, "
            f"{RESERVATIONS_MAX} are allowed, in {verdicts.counted(len(versions), 'version')} from "
            f"resourceVersion {first.rv} to {last.rv}",
            versions=(first.rv, last.rv),
            objects=(first.claim.involved,),
            weight=count,
        )


def _unallocated(reserved: Sequence[claim_versions.Version]) -> Iterator[findings.Finding]:
    for now in reserved:
        if now.allocation is None:
            count = verdicts.counted(len(now.consumers), "reservation")
            yield findings.Finding(
                summary=f"claim {now.claim.name} was reserved without an allocation",
                text=f"Claim {now.claim} had {count} at resourceVersion {now.rv}, but no allocation",
                versions=(now.rv,),
                objects=(now.claim.involved,),
                weight=len(now.consumers),
            )


def _wrong(item: Reservation, pods: pod_lives.PodLives) -> Iterator[findings.Finding]:
    consumer, pod = item.value, pods.pods.get(item.key)
    if is_group(consumer) and pod is None:
        kind, why = "PodGroup", _refusal_of_group(item, pods)
    else:
        kind, why = "pod", _refusal(item, pods)
    if why:
        yield findings.Finding(
            summary=f"claim {item.claim.name} was reserved for a {kind} that {why}",
            text=f"Claim {item.claim} was reserved at resourceVersion {item.begin.rv} for {kind} "
            f"{consumer.name} (uid {consumer.uid}), that {why}",
            versions=(item.begin.rv,),
            objects=[item.claim.involved, *([pod.involved] if pod else ())],
        )


def _refusal(item: Reservation, pods: pod_lives.PodLives) -> str:
    """Return why the pod of a reservation is a wrong one; empty if nothing speaks against it."""
    pod, kind = pods.pods.get(item.key), (item.value.resource, item.value.api_group)
    if pod is None:
        return _absence(item, pods) if kind == _PODS and pods.is_complete else ""
    if pod.namespace != item.claim.namespace:
        return f"is in namespace {pod.namespace}"
    if pod.name != item.value.name:
        return f"has the name {pod.name}"
    if kind != _PODS:
        return f"is a pod, but was named as {'.'.join(filter(None, kind))}"
    return _unnamed(pod, item.claim)


def _absence(item: Reservation, pods: pod_lives.PodLives) -> str:
    key = item.claim.namespace, item.value.name
    others = [pod.uid for pod in pods.pods.values() if (pod.namespace, pod.name) == key]
    told = f": pods of this name had uid {', '.join(others)}" if others else ""
    return f"never existed{told}"


def _refusal_of_group(item: Reservation, pods: pod_lives.PodLives) -> str:
    group = pods.groups.get(item.key)
    if not pods.has_all_groups:
        return ""
    if group is None:
        return "never existed"
    if (group.namespace, group.name) != (item.claim.namespace, item.value.name):
        return f"is {group.namespace}/{group.name}"
    return _unnamed(group, item.claim)


def _unnamed(user: pod_lives.UserLife, claim: claim_versions.ClaimName) -> str:
    is_user = claim.name in user.named or claim.owner == user.uid
    return "" if is_user else "does not name it"
