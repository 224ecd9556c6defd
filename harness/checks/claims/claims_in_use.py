"""The check of claims in use: as long as a pod runs, its claim stays reserved, allocated and there.

The API says of `status.reservedFor`: "A claim that is in use or might be in use because it has been
reserved must not get deallocated." A reservation may be taken back before its pod is bound, when
the pod's binding has failed, and after the pod has ended or is gone; never in between. That also
holds for a claim that is deleted: its finalizer keeps it until no pod uses it.

A scheduler that does not know that a pod is bound gives its claims back, as kube-scheduler does in
Unreserve, which follows any failure of a binding. If faults hit the writes of a pod, its violation
names the known hazard that it shows: correct code may do the same, but the guarantee is broken.

Not examined in runs in which a nemesis has drawn such faults: they would show these hazards now and
then. Nor are claims that a fault moves from one device to another.
"""

import collections
from collections.abc import Iterable, Iterator

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.claims import reservations
from harness.checks.faults import fault_records
from harness.checks.observed import claim_versions, pod_lives
from harness.history import plans, records
from harness.model.fault_effects import Effect

_HAZARDS = (
    ("pods", Effect.LOST_ANSWER, "H11, a binding without an answer"),
    ("pods", Effect.LATE_WRITE, "H19, a binding that comes late"),
    ("resourceclaims", Effect.LOST_ANSWER, "H10, a reservation that was taken back"),
    ("resourceclaims", Effect.LATE_WRITE, "H18, a reservation that is taken back late"),
)
"""The hazards that faults in a scheduler's writes of a pod or its claim show; the first counts."""


def applies(plan: plans.Plan) -> bool:
    """Return whether no nemesis confuses the schedulers of runs with this plan."""
    return plan_facts.owes_claims(plan) and not plan_facts.confuses_schedulers(plan)


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with all reservations that ended while their pod ran, VALID without any.

    Without those of claims that an API server of others removed in spite of a finalizer.
    """
    blames_server = plan_facts.blames_server(evidence.plan)
    hits = evidence[fault_records.FaultRecords].applications
    moved = {
        (item.namespace, item.name)
        for item in hits
        if plan_facts.effect(item) is Effect.MOVED_CLAIM
    }
    users = _Users(evidence[pod_lives.PodLives])
    listed = evidence[reservations.Reservations]
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
    hazards = _Hazards(hits)
    found = [
        _finding(item, end, pod, hazards.named(item.claim, pod))
        for item, end in ended
        for pod in users.of(item)
        if pod.runs_at(end.rv)
    ]
    return findings.answer(
        CHECK,
        examined=len(ended) + len(kept),
        what="reservations that ended or whose pod was bound",
        found=found,
    )


CHECK = protocol.Check(
    name="claims_in_use",
    guarantee="R",
    promise="a claim stays allocated, reserved and there while a pod that uses it runs",
    applies=applies,
    needs=(
        claim_versions.ClaimVersions,
        pod_lives.PodLives,
        fault_records.FaultRecords,
        reservations.Reservations,
    ),
    judge=judge,
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

    def of(self, item: reservations.Reservation) -> Iterator[pod_lives.PodLife]:
        if not reservations.is_group(item.value):
            if (pod := self._pods.get(item.key)) is not None:
                yield pod
            return
        name = item.claim.name
        for pod in self._members.get((item.claim.namespace, item.value.name), ()):
            if name in pod.named or name in pod.latest.values():
                yield pod


class _Hazards:
    """The known hazards that faults of a run bring about, by what they hit."""

    def __init__(self, applications: Iterable[records.FaultApplied]) -> None:
        self._effects = collections.defaultdict[tuple[str, str, str], set[Effect]](set)
        for item in applications:
            if item.client.startswith(plan_facts.SCHEDULER) and item.name and not item.event_type:
                key = item.resource, item.namespace, item.name
                self._effects[key].add(plan_facts.effect(item))

    def named(self, claim: claim_versions.ClaimName, pod: pod_lives.PodLife) -> str:
        """Return the hazard that faults in writes of a pod and its claim show; empty: none."""
        about: dict[str, verdicts.NamedObject] = {"pods": pod, "resourceclaims": claim}
        for plural, effect, hazard in _HAZARDS:
            key = plural, about[plural].namespace, about[plural].name
            if effect in self._effects.get(key, ()):
                return hazard
        return ""


def _finding(
    item: reservations.Reservation,
    end: claim_versions.Version,
    pod: pod_lives.PodLife,
    hazard: str,
) -> findings.Finding:
    what = _end(end)
    group = f"PodGroup {item.value.name} of " if reservations.is_group(item.value) else ""
    ends = [rv for rv in (pod.ended_rv, pod.gone_rv) if rv is not None]
    return findings.Finding(
        summary=f"claim {item.claim.name} {what} while pod {pod.name} used it"
        + f" ({hazard})" * bool(hazard),
        text=f"Claim {item.claim} was reserved for {group}pod {pod} from resourceVersion "
        f"{item.begin.rv}; at {end.rv} it {what}, although the pod was bound at "
        f"{pod.bound_rv} and {_fate(pod)}",
        versions=(item.begin.rv, end.rv),
        objects=(item.claim.involved, pod.involved),
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
