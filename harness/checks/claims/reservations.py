"""The checks of reservations: of allocated claims, for their own pods, and as long as these run.

The API says of `status.reservedFor`: "ReservedFor indicates which entities are currently allowed to
use the claim … There can be at most 256 such reservations"; it may not be set without an
allocation. A reservation names a pod by its UID, because a name can be reborn: it must be the UID
of a pod that exists or existed in the namespace of the claim, with this name. The pod's spec names
the claim, or the claim was generated for the pod: then the pod controls it. The same holds for
PodGroups, for which the claims of their specs are reserved instead of for their pods. Pods that the
recorder cannot know, because the watch of pods had a gap, and consumers of other kinds are not
examined.

It says also: "A claim that is in use or might be in use because it has been reserved must not get
deallocated." A reservation may be taken back before its pod is bound, when the pod's binding has
failed, and after the pod has ended or is gone; never in between. That also holds for a claim that
is deleted: its finalizer keeps it until no pod uses it.

A scheduler that does not know that a pod is bound gives its claims back, as kube-scheduler does in
Unreserve, which follows any failure of a binding. If faults hit the writes of a pod, its violation
names the known hazard that it shows: correct code may do the same, but the guarantee is broken. Use
is not examined in runs in which a nemesis has drawn such faults, as they would show these hazards
now and then, nor of claims that a fault moves from one device to another.
"""

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.checks import fault_records, findings, plan_facts, protocol, verdicts
from harness.checks.observed import claim_versions, observations, observed_claims, pod_lives
from harness.history import records
from harness.model.fault_effects import Effect

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
        spans = evidence[claim_versions.ClaimVersions].spans(lambda now: now.users)
        return cls(sorted(spans, key=lambda item: item.begin.rv))


def is_group(consumer: observed_claims.Consumer) -> bool:
    return (consumer.resource, consumer.api_group) == _GROUPS


def most(claims: claim_versions.ClaimVersions) -> int:
    """Return the largest number of reservations of one claim at once."""
    return max((len(now.consumers) for now in claims if not now.is_gone), default=0)


def _judge_reservations(evidence: protocol.Evidence) -> verdicts.Answer:
    claims, pods = evidence[claim_versions.ClaimVersions], evidence[pod_lives.PodLives]
    reserved = [now for now in claims if now.consumers and not now.is_gone]
    found = [*_excesses(reserved), *_unallocated(reserved)]
    for item in evidence[Reservations]:
        found += _wrong(item, pods)
    return findings.answer(
        CLAIM_RESERVATIONS,
        examined=len(reserved),
        what="versions of reserved claims, with at most "
        + verdicts.counted(most(claims), "reservation"),
        found=found,
    )


CLAIM_RESERVATIONS = protocol.Check(
    name="claim_reservations",
    guarantee="R",
    promise=f"claims are reserved while allocated, for at most {RESERVATIONS_MAX} pods that name them",
    applies=lambda plan: plan_facts.owes_claims(plan) or plan.requirements.reservations_min > 0,
    needs=(claim_versions.ClaimVersions, pod_lives.PodLives, Reservations),
    judge=_judge_reservations,
)


def _excesses(reserved: Sequence[claim_versions.Version]) -> Iterator[findings.Finding]:
    excesses: dict[str, list[claim_versions.Version]] = {}
    for now in reserved:
        if len(now.consumers) > RESERVATIONS_MAX:
            excesses.setdefault(now.claim.uid, []).append(now)
    for versions in excesses.values():
        first, last = versions[0], versions[-1]
        count = max(len(item.consumers) for item in versions)
        yield findings.about(
            first.claim,
            f"was reserved for {count} pods at once",
            f"was reserved for up to {count} pods at once, {RESERVATIONS_MAX} are allowed, in "
            f"{verdicts.counted(len(versions), 'version')} from resourceVersion {first.rv} to "
            f"{last.rv}",
            versions=(first.rv, last.rv),
            weight=count,
        )


def _unallocated(reserved: Sequence[claim_versions.Version]) -> Iterator[findings.Finding]:
    for now in reserved:
        if now.allocation is None:
            count = verdicts.counted(len(now.consumers), "reservation")
            yield findings.about(
                now.claim,
                "was reserved without an allocation",
                f"had {count} at resourceVersion {now.rv}, but no allocation",
                versions=(now.rv,),
                weight=len(now.consumers),
            )


def _wrong(item: Reservation, pods: pod_lives.PodLives) -> Iterator[findings.Finding]:
    consumer, pod = item.value, pods.pods.get(item.key)
    if is_group(consumer) and pod is None:
        kind, why = "PodGroup", _refusal_of_group(item, pods)
    else:
        kind, why = "pod", _refusal(item, pods)
    if why:
        yield findings.about(
            item.claim,
            f"was reserved for a {kind} that {why}",
            f"was reserved at resourceVersion {item.begin.rv} for {kind} {consumer.name} (uid "
            f"{consumer.uid}), that {why}",
            versions=(item.begin.rv,),
            beside=[pod.involved] if pod else (),
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


# ------------------------------------------------------------------------- claims in use
_HAZARDS = (
    ("pods", Effect.LOST_ANSWER, "H11, a binding without an answer"),
    ("pods", Effect.LATE_WRITE, "H19, a binding that comes late"),
    ("resourceclaims", Effect.LOST_ANSWER, "H10, a reservation that was taken back"),
    ("resourceclaims", Effect.LATE_WRITE, "H18, a reservation that is taken back late"),
)
"""The hazards that faults in a scheduler's writes of a pod or its claim show; the first counts."""


def _judge_use(evidence: protocol.Evidence) -> verdicts.Answer:
    blames_server = plan_facts.blames_server(evidence.plan)
    hits = evidence[fault_records.FaultRecords].applications
    moved = {
        (item.namespace, item.name)
        for item in hits
        if plan_facts.effect(item) is Effect.MOVED_CLAIM
    }
    users = _Users(evidence[pod_lives.PodLives])
    listed = evidence[Reservations]
    ended = [
        (item, item.end)
        for item in listed
        if item.end is not None
        and (item.claim.namespace, item.claim.name) not in moved
        and (blames_server or not item.end.ignored)
    ]
    is_complete = evidence[claim_versions.ClaimVersions].is_complete
    kept = [
        item
        for item in listed
        if item.end is None
        and is_complete
        and any(pod.bound_rv is not None for pod in users.of(item))
    ]
    hit = _hit(hits)
    found = [
        _finding(item, end, pod, _hazard(hit, item.claim, pod))
        for item, end in ended
        for pod in users.of(item)
        if pod.runs_at(end.rv)
    ]
    return findings.answer(
        CLAIMS_IN_USE,
        examined=len(ended) + len(kept),
        what="reservations that ended or whose pod was bound",
        found=found,
    )


CLAIMS_IN_USE = protocol.Check(
    name="claims_in_use",
    guarantee="R",
    promise="a claim stays allocated, reserved and there while a pod that uses it runs",
    applies=lambda plan: plan_facts.owes_claims(plan) and not plan_facts.confuses_schedulers(plan),
    needs=(
        claim_versions.ClaimVersions,
        pod_lives.PodLives,
        fault_records.FaultRecords,
        Reservations,
    ),
    judge=_judge_use,
)


class _Users:
    """The pods that use claims because of reservations."""

    def __init__(self, pods: pod_lives.PodLives) -> None:
        self._pods = pods.pods
        self._members = collections.defaultdict[tuple[str, str], list[pod_lives.PodLife]](list)
        """Namespace and name of a PodGroup -> its pods."""
        for pod in pods.pods.values():
            if pod.group:
                self._members[pod.namespace, pod.group].append(pod)

    def of(self, item: Reservation) -> Iterator[pod_lives.PodLife]:
        if not is_group(item.value):
            if (pod := self._pods.get(item.key)) is not None:
                yield pod
            return
        name = item.claim.name
        for pod in self._members.get((item.claim.namespace, item.value.name), ()):
            if name in pod.named or name in pod.latest.values():
                yield pod


def _hit(applications: Iterable[records.FaultApplied]) -> dict[tuple[str, str, str], set[Effect]]:
    """Return the effects on a scheduler's writes, by resource, namespace and name."""
    found = collections.defaultdict[tuple[str, str, str], set[Effect]](set)
    for item in applications:
        if item.client.startswith(plan_facts.SCHEDULER) and item.name and not item.event_type:
            found[item.resource, item.namespace, item.name].add(plan_facts.effect(item))
    return found


def _hazard(
    hit: Mapping[tuple[str, str, str], set[Effect]],
    claim: claim_versions.ClaimName,
    pod: pod_lives.PodLife,
) -> str:
    about: dict[str, verdicts.Named] = {"pods": pod, "resourceclaims": claim}
    for plural, effect, hazard in _HAZARDS:
        if effect in hit.get((plural, about[plural].namespace, about[plural].name), ()):
            return hazard
    return ""


def _finding(
    item: Reservation, end: claim_versions.Version, pod: pod_lives.PodLife, hazard: str
) -> findings.Finding:
    what = _end(end)
    group = f"PodGroup {item.value.name} of " if is_group(item.value) else ""
    ends = [rv for rv in (pod.ended_rv, pod.gone_rv) if rv is not None]
    return findings.about(
        item.claim,
        f"{what} while pod {pod.name} used it" + f" ({hazard})" * bool(hazard),
        f"was reserved for {group}pod {pod} from resourceVersion {item.begin.rv}; at {end.rv} it "
        f"{what}, although the pod was bound at {pod.bound_rv} and {_fate(pod)}",
        versions=(item.begin.rv, end.rv),
        beside=[pod.involved],
        weight=min(ends, default=pod.last_rv + 1) - end.rv,
    )


def _end(end: claim_versions.Version) -> str:
    if end.ignored:
        return "was removed by the API server in spite of its finalizer"
    if end.is_gone:
        return "was removed"
    return "was deallocated" if end.allocation is None else "lost its reservation"


def _fate(pod: pod_lives.PodLife) -> str:
    if pod.ended_rv is not None:
        return f"ended only at {pod.ended_rv}"
    return "still existed at the end" if pod.gone_rv is None else f"was gone only at {pod.gone_rv}"
