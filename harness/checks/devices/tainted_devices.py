"""The checks of taints: no tainted device is allocated, and NoExecute evicts pods in time.

Where one Python scheduler allocates and no fault disturbs what it sees, its steps show what it
knew. For any other scheduler, the record alone has to show it: an attempt begins after its claim
was created, and does not take long. The scheduler has seen what was published `LAG_S` before the
claim was created, or `ATTEMPT_S` before the allocation. In runs with faults it may lag by any time,
and is not examined.

The API says of the effect NoExecute: "Evict any already-running pods that do not tolerate the
device taint." A pod may stay for the `tolerationSeconds` of its toleration, which are counted here
from when the taint was seen, and for `IN_TIME_S`, because a controller does not act at once.
Examined are pods that were evicted, and those that used a tainted device for longer than that. In
runs with faults the controller may be late by any time, and nothing is examined.
"""

import collections
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.devices import device_timelines
from harness.checks.holds import hold_history
from harness.checks.observed import (
    claim_versions,
    observations,
    observed_claims,
    observed_cluster,
    pod_lives,
)
from harness.history import plans

LAG_S = 10.0
"""Seconds by which a scheduler without faults may lag behind the recorder."""
ATTEMPT_S = 60.0
"""Seconds from what a scheduler saw before an attempt to the commit of its allocation."""


def needs_views(plan: plans.Plan) -> bool:
    """Return whether the scheduler's steps add evidence: its pools are tainted, it is alone."""
    return bool(plan_facts.added_taints(plan)) and device_timelines.are_told(plan)


def _judge_taints(evidence: protocol.Evidence) -> verdicts.Answer:
    folded, timelines = (
        evidence[hold_history.HoldHistory],
        evidence[device_timelines.TaintTimelines],
    )
    is_told = needs_views(evidence.plan)
    if not is_told and not timelines.has_taints:
        return TAINTED_DEVICES.not_examined("no device was tainted")
    known: Mapping[str, device_timelines.View] = (
        evidence[device_timelines.AttemptViews] if is_told else _seen_views(folded.holds, timelines)
    )
    examined = [
        hold
        for hold in folded.holds
        if hold.uid in known
        and known[hold.uid].slices != device_timelines.UNKNOWN
        and hold.uid not in timelines.tolerant
    ]
    if not is_told and not examined:
        why = "all allocations were made before the scheduler must have seen the taints"
        return TAINTED_DEVICES.not_examined(why)
    gaps = [*folded.stream("resourceslices").gaps, *folded.stream("devicetaintrules").gaps]
    found = [
        _tainted(hold, known[hold.uid])
        for hold in (() if gaps else examined)
        if (is_told or timelines.was_tainted(hold.device))
        and not timelines.could_be_clear(hold.device, known[hold.uid], until=hold.from_rv)
    ]
    unless = "" if examined else "of no allocation is known what the scheduler had seen"
    unless = "versions of slices or rules may be missing" if gaps else unless
    told = findings.first(found) if found else "no tainted device was allocated"
    return findings.result(
        TAINTED_DEVICES,
        found,
        is_kept=not unless,
        examined=len(examined),
        reason=(
            f"{unless}, so nothing was examined"
            if unless
            else f"{told}; {len(examined)} allocations examined"
        ),
    )


TAINTED_DEVICES = protocol.Check(
    name="tainted_devices",
    guarantee="N",
    promise="no device is allocated that the scheduler must have known as tainted",
    applies=lambda plan: (
        needs_views(plan) or (observations.SLICES in plan.resources and not plan.faults)
    ),
    needs=(
        hold_history.HoldHistory,
        device_timelines.TaintTimelines,
        device_timelines.AttemptViews,
    ),
    judge=_judge_taints,
)


def _seen_views(
    holds: Iterable[hold_history.Hold], timelines: device_timelines.TaintTimelines
) -> dict[str, device_timelines.View]:
    """Return what any scheduler must have seen; of a claim with several allocations, the oldest."""
    views: dict[str, device_timelines.View] = {}
    for hold in holds:
        claimed_ns = timelines.claimed_ns.get(hold.uid, 0)
        since_ns = max(claimed_ns - int(LAG_S * 1e9), hold.from_ts_ns - int(ATTEMPT_S * 1e9))
        view = timelines.view_at(since_ns)
        views[hold.uid] = view.older(views.get(hold.uid, view))
    return views


def _tainted(hold: hold_history.Hold, view: device_timelines.View) -> findings.Finding:
    rules = f", those of the rules from {view.rules} on" if view.rules else ""
    return findings.about(
        hold,
        f"was allocated {hold.device}, which was tainted",
        f"was allocated {hold.device} at resourceVersion {hold.from_rv}. When the scheduler began "
        f"the attempt, it had seen the slices up to resourceVersion {view.slices}. In all versions "
        f"of the slices from then on{rules}, up to the allocation, the device was tainted or not "
        "there",
        versions=(view.slices, hold.from_rv),
    )


# ----------------------------------------------------------------------------- evictions
IN_TIME_S = 10.0
"""Seconds after its time in which a pod must be deleted."""
EARLY_S = 2.0
"""Seconds by which a pod may be evicted before its time: times of taints have whole seconds, and
the recorder sees a taint later than the controller may."""
KNOWN = "known as H23: a toleration without an effect does not keep a pod on its device"
_NS = 1_000_000_000
_STREAMS = (*("pods", "resourceclaims"), *("resourceslices", "devicetaintrules"))
Use = claim_versions.Span[tuple[str, str, str]]
"""A device that a claim holds for a pod, by the pod's UID, the device and the request."""
_Stay = tuple[Use, observed_cluster.Taint, float]
"""A use of a tainted device, and for how many seconds it went on after its time."""


def _are_pods_evicted(plan: plans.Plan) -> bool:
    """Return whether devices get NoExecute taints, and a controller evicts pods by them."""
    controller = plan_facts.part(plan, "subject").get("claim_controller")
    is_known = controller in ("python", "cluster") or isinstance(controller, Mapping)
    is_observed = observations.SLICES in plan.resources and not plan.faults
    effects = {taint.get("effect") for taint in plan_facts.pool_taints(plan)}
    is_tainted = device_timelines.NO_EXECUTE in effects
    return (
        is_known
        and is_observed
        and (is_tainted or plan_facts.files_have(plan, "taints", "taint-rules"))
    )


def _judge_evictions(evidence: protocol.Evidence) -> verdicts.Answer:
    folded = evidence[hold_history.HoldHistory]
    if any(folded.stream(name).gaps for name in _STREAMS):
        return EVICTED_PODS.unknown("versions of pods, claims, slices or rules may be missing")
    pods, timelines = evidence[pod_lives.PodLives].pods, evidence[device_timelines.TaintTimelines]
    uses = collections.defaultdict[str, list[Use]](list)
    spans = evidence[claim_versions.ClaimVersions].spans(_used, across_gaps=True)
    for use in sorted(spans, key=lambda item: item.begin.ts_ns):
        uses[use.key[0]].append(use)
    evicted = [pod for pod in pods.values() if pod.eviction is not None]
    stayed = {
        uid: list(_long_uses(timelines, pods[uid], listed))
        for uid, listed in uses.items()
        if uid in pods
    }
    examined = {*(pod.uid for pod in evicted), *(uid for uid, listed in stayed.items() if listed)}
    if not examined:
        return EVICTED_PODS.not_examined(
            "no pod used a device with a NoExecute taint for long enough"
        )
    found = [_late(pods[uid], listed) for uid, listed in stayed.items() if any(listed)]
    found += [
        _finding(pod, told)
        for pod in evicted
        if (told := _wrong(timelines, pod, uses.get(pod.uid, [])))
    ]
    told = f"{len(examined)} pods examined, {len(evicted)} of them evicted"
    reason = f"{findings.first(found)}; {told}" if found else told
    return findings.result(EVICTED_PODS, found, examined=len(examined), reason=reason)


EVICTED_PODS = protocol.Check(
    name="evicted_pods",
    guarantee="N",
    promise="a pod is evicted in time if a device of it gets a NoExecute taint that it does not "
    "tolerate, and only then",
    applies=_are_pods_evicted,
    needs=(
        hold_history.HoldHistory,
        claim_versions.ClaimVersions,
        pod_lives.PodLives,
        device_timelines.TaintTimelines,
    ),
    judge=_judge_evictions,
)


def _used(
    version: claim_versions.Version,
) -> dict[tuple[str, str, str], observed_claims.AllocationResult]:
    """Return what pods use by a claim: UID of the pod, device and request -> the result."""
    pods = [item.uid for item in version.consumers if item.resource == "pods"]
    return {(pod, item.id, item.request): item for pod in pods for item in version.results}


def _long_uses(
    timelines: device_timelines.TaintTimelines, pod: pod_lives.PodLife, uses: Sequence[Use]
) -> Iterator[_Stay | None]:
    """Yield for how long, in seconds, the pod stayed beyond its time; None: it tolerated a taint.

    Only uses of a tainted device are told that lasted long enough to be examined.
    """
    for use in uses:
        until_ns = math.inf if use.end is None else use.end.ts_ns
        for taint, span in timelines.taints_of(use.key[1]):
            begin = max(use.begin.ts_ns, pod.bound_ns, span.since_ns)
            end = min(until_ns, pod.leaving_ns, span.until_ns, timelines.end_ns)
            tolerated_s = tolerated_for_s(use.value.tolerations or (), taint)
            due = max(begin, span.since_ns + tolerated_s * _NS)
            if tolerated_s == math.inf and end > begin + IN_TIME_S * _NS:
                yield None
            elif end > due + IN_TIME_S * _NS:
                yield use, taint, (end - due) / _NS


def tolerated_for_s(
    tolerations: Sequence[Any], taint: observed_cluster.Taint, *, theirs: bool = False
) -> float:
    """Return for how many seconds a NoExecute taint is tolerated; infinite: for ever.

    `theirs`: as Kubernetes' own controller counts, without tolerations that name no effect. The
    shortest toleration counts. Seconds are those of tolerations with the effect NoExecute.
    """
    counted = [item for item in tolerations if item.get("effect") or not theirs]
    limits = [_seconds(item) for item in counted if observed_cluster.tolerates(item, taint)]
    return max(min(limits, default=0.0), 0.0)


def _seconds(toleration: Any) -> float:
    seconds = toleration.get("tolerationSeconds")
    is_counted = toleration.get("effect") == device_timelines.NO_EXECUTE and seconds is not None
    return float(seconds) if is_counted else math.inf


def _late(pod: pod_lives.PodLife, listed: Sequence[_Stay | None]) -> findings.Finding:
    use, taint, late_s = max(filter(None, listed), key=lambda item: item[2])
    told = (
        f"used {use.key[1]} for {late_s:.1f} s after its taint {taint.key}:NoExecute should have "
        "evicted it"
    )
    return _finding(pod, told, use.claim.involved)


def _wrong(
    timelines: device_timelines.TaintTimelines, pod: pod_lives.PodLife, uses: Sequence[Use]
) -> str:
    """Return why an evicted pod should not have been evicted then, and by whom it was."""
    told, by = _early(timelines, pod, uses), pod.eviction.by if pod.eviction else ""
    if told and not _early(timelines, pod, uses, theirs=True):
        told += f" ({KNOWN})"
    return told.replace("evicted", f"evicted by {by}", 1) if by else told


def _early(
    timelines: device_timelines.TaintTimelines,
    pod: pod_lives.PodLife,
    uses: Sequence[Use],
    *,
    theirs: bool = False,
) -> str:
    if not uses:
        return "was evicted, although it has never used a device"
    evicted_ns = pod.eviction.ts_ns if pod.eviction else 0
    reasons = [
        span.since_ns + tolerated_for_s(use.value.tolerations or (), taint, theirs=theirs) * _NS
        for use in uses
        for taint, span in timelines.taints_of(use.key[1])
        if span.until_ns > evicted_ns - EARLY_S * _NS and use.begin.ts_ns < evicted_ns
    ]
    due = min(reasons, default=math.inf)
    if due == math.inf:
        return "was evicted, although its devices had no NoExecute taint that it does not tolerate"
    if evicted_ns < due - EARLY_S * _NS:
        return f"was evicted {(due - evicted_ns) / _NS:.1f} s before its time"
    return ""


def _finding(
    pod: pod_lives.PodLife, told: str, *claims: verdicts.InvolvedObject
) -> findings.Finding:
    versions = [pod.eviction.rv] if pod.eviction else []
    return findings.about(pod, told, versions=versions, beside=claims)
