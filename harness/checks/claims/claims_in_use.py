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
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.checks import protocol, verdicts
from harness.checks.claims import claim_lives, findings, group_lives, pod_lives
from harness.checks.faults import drawn_faults, fault_records
from harness.history import plans, records
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

_Members = Mapping[tuple[str, str], Sequence[pod_lives.PodLife]]
"""Namespace and name of a PodGroup -> its pods."""
_ENDS = {
    "dropped": "lost its reservation",
    "deallocated": "was deallocated",
    "deleted": "was removed",
    "removed": "was removed by the API server in spite of its finalizer",
}


def applies(plan: plans.Plan) -> bool:
    """Return whether no nemesis confuses the schedulers of runs with this plan."""
    return findings.owes(plan) and not drawn_faults.confuse_schedulers(plan)


CHECK = protocol.Check(
    name="claims_in_use",
    guarantee="R",
    promise="a claim stays allocated, reserved and there while a pod that uses it runs",
    applies=applies,
    needs=(claim_lives.ClaimLives, pod_lives.PodLives, fault_records.FaultRecords),
    judge=lambda evidence: check(
        evidence[claim_lives.ClaimLives],
        evidence[pod_lives.PodLives],
        evidence[fault_records.FaultRecords],
        blames_server=findings.blames_server(evidence.plan),
    ),
)


def check(
    lives: claim_lives.ClaimLives,
    pods: pod_lives.PodLives,
    faults: fault_records.FaultRecords | None = None,
    *,
    blames_server: bool = True,
) -> verdicts.Answer:
    """Return INVALID with all reservations that ended while their pod ran, VALID without any.

    `blames_server`: also with those of claims that the API server removed in spite of a finalizer.
    """
    hits = () if faults is None else faults.applications
    moved = {
        (item.namespace, item.name)
        for item in hits
        if fault_kinds.of(item.kind).effect is Effect.MOVED_CLAIM
    }
    ended = [
        item
        for item in lives.reservations
        if item.until_version is not None
        and (item.claim.namespace, item.claim.name) not in moved
        and (blames_server or item.end != "removed")
    ]
    members = _members(pods)
    kept = [
        item
        for item in lives.reservations
        if item.until_version is None
        and lives.is_complete
        and any(pod.bound_version is not None for pod in _pods_of(item, pods, members))
    ]
    return findings.answer(
        CHECK,
        examined=len(ended) + len(kept),
        what="reservations that ended or whose pod was bound",
        found=list(_taken(ended, pods, members, _Hazards(hits))),
    )


class _Hazards:
    """The known hazards that faults of a run bring about, by what they hit."""

    def __init__(self, applications: Iterable[records.FaultApplied]) -> None:
        self._effects: dict[tuple[str, str, str], set[Effect]] = collections.defaultdict(set)
        for item in applications:
            if item.client.startswith(drawn_faults.SCHEDULER) and item.name and not item.event_type:
                effect = fault_kinds.of(item.kind).effect
                self._effects[item.resource, item.namespace, item.name].add(effect)

    def named(self, claim: claim_lives.ClaimName, pod: pod_lives.PodLife) -> str:
        """Return the hazard that faults in writes of a pod and its claim show; empty: none."""
        of_pod = self._effects.get(("pods", pod.namespace, pod.name), set())
        of_claim = self._effects.get(("resourceclaims", claim.namespace, claim.name), set())
        if Effect.LOST_ANSWER in of_pod:
            return "H11, a binding without an answer"
        if Effect.LATE_WRITE in of_pod:
            return "H19, a binding that comes late"
        if Effect.LOST_ANSWER in of_claim:
            return "H10, a reservation that was taken back"
        return "H18, a reservation that is taken back late" if Effect.LATE_WRITE in of_claim else ""


def _taken(
    ended: list[claim_lives.Reservation],
    pods: pod_lives.PodLives,
    members: _Members,
    hazards: _Hazards,
) -> Iterator[findings.Finding]:
    for item in ended:
        for pod in _pods_of(item, pods, members):
            until = item.until_version
            if until is None or not item.end or not pod.runs_at(until):
                continue
            what = _ENDS[item.end]
            hazard = hazards.named(item.claim, pod)
            yield findings.Finding(
                summary=f"claim {item.claim.name} {what} while pod {pod.name} used it"
                + f" ({hazard})" * bool(hazard),
                text=f"Claim {item.claim} was reserved for {_user(item, pod)} from resourceVersion "
                f"{item.from_version}; at {until} it {what}, although the pod was bound at "
                f"{pod.bound_version} and {_fate(pod)}",
                versions=(item.from_version, until),
                objects=(verdicts.involved_claim(item.claim), pod.involved),
                weight=_overlap(pod, until),
            )


def _user(item: claim_lives.Reservation, pod: pod_lives.PodLife) -> str:
    if not group_lives.is_group(item.consumer):
        return f"pod {pod}"
    return f"PodGroup {item.consumer.name} of pod {pod}"


def _members(pods: pod_lives.PodLives) -> _Members:
    found = collections.defaultdict(list)
    for pod in pods.pods.values():
        if pod.group:
            found[pod.namespace, pod.group].append(pod)
    return found


def _pods_of(
    item: claim_lives.Reservation,
    pods: pod_lives.PodLives,
    members: _Members,
) -> Iterator[pod_lives.PodLife]:
    """Yield the pods that use a claim because of a reservation."""
    if not group_lives.is_group(item.consumer):
        if (pod := pods.pods.get(item.consumer.uid)) is not None:
            yield pod
        return
    name = item.claim.name
    for pod in members.get((item.claim.namespace, item.consumer.name), ()):
        if name in pod.named or name in pod.latest.values():
            yield pod


def _fate(pod: pod_lives.PodLife) -> str:
    if pod.ended_version is not None:
        return f"ended only at {pod.ended_version}"
    if pod.gone_version is not None:
        return f"was gone only at {pod.gone_version}"
    return "still existed at the end"


def _overlap(pod: pod_lives.PodLife, until: int) -> int:
    """Return for how many resourceVersions the pod went on without its claim."""
    ends = [end for end in (pod.ended_version, pod.gone_version) if end is not None]
    return min(ends, default=pod.last_version + 1) - until
