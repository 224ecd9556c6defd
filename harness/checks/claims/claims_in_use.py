"""The check of claims in use: as long as a pod runs, its claim stays reserved, allocated and there.

The API says of `status.reservedFor`: "A claim that is in use or might be in use because it has been
reserved must not get deallocated." A reservation may be taken back before its pod is bound, when
the pod's binding has failed, and after the pod has ended or is gone; never in between. That also
holds for a claim that is deleted: its finalizer keeps it until no pod uses it.

Not examined in runs in which a scheduler may be wrong about a binding: its answer was lost or came
late, the scheduler or the API server was killed or paused, or there are several schedulers. A
scheduler that does not know that the pod is bound gives its claims back (as kube-scheduler does in
Unreserve). Nor in runs in which a fault moves claims.
"""

from collections.abc import Iterator

from harness.checks import verdicts
from harness.checks.claims import claim_lives, findings, pod_lives
from harness.checks.schedulers import scheduler_identities
from harness.history import plans

NAME = "claims_in_use"
PROMISE = "a claim stays allocated, reserved and there while a pod that uses it runs"
_UNSURE = (
    "lose-response",
    "truncate-response",
    "delay-request",
    "delay-response",
    "kill-process",
    "pause-process",
    "restart-process",
    "stale-list",
    "take-over",
)
"""Faults after which a scheduler that they hit does not know whether a pod is bound."""
_MOVING = ("restart-api-server", "reallocate-claims", "take-over")
"""Faults that hit all schedulers, or take claims from pods."""
_SCHEDULER = "scheduler"
_ENDS = {
    "dropped": "lost its reservation",
    "deallocated": "was deallocated",
    "deleted": "was removed",
}


def applies(plan: plans.Plan) -> bool:
    """Return whether schedulers know in runs with this plan which pods they have bound."""
    subject = plan.settings.get("subject") or {}
    return (
        findings.owes(plan)
        and not scheduler_identities.are_several(plan)
        and not subject.get("leader_election")
        and not any(map(_confuses, plan.faults))
    )


def _confuses(fault: plans.PlannedFault) -> bool:
    hits = not fault.clients or any(name.startswith(_SCHEDULER) for name in fault.clients)
    return fault.kind in _MOVING or (hits and fault.kind in _UNSURE)


def check(lives: claim_lives.ClaimLives, pods: pod_lives.PodLives) -> verdicts.Answer:
    """Return INVALID with all reservations that ended while their pod ran, VALID without any."""
    ended = [item for item in lives.reservations if item.until_version is not None]
    return findings.answer(
        NAME,
        PROMISE,
        examined=len(ended),
        what="reservations that ended",
        found=list(_taken(ended, pods)),
    )


def _taken(
    ended: list[claim_lives.Reservation], pods: pod_lives.PodLives
) -> Iterator[findings.Finding]:
    for item in ended:
        pod, until = pods.pods.get(item.consumer.uid), item.until_version
        if pod is not None and until is not None and item.end and pod.runs_at(until):
            what = _ENDS[item.end]
            yield findings.Finding(
                summary=f"claim {item.claim.name} {what} while pod {pod.name} used it",
                text=f"Claim {item.claim} was reserved for pod {pod} from resourceVersion "
                f"{item.from_version}; at {until} it {what}, although the pod was bound at "
                f"{pod.bound_version} and {_fate(pod)}",
                versions=(item.from_version, until),
                objects=(verdicts.involved_claim(item.claim), pod.involved),
                weight=_overlap(pod, until),
            )


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
