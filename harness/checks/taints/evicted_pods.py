"""The check of evictions: a NoExecute taint ends the pods that do not tolerate it, and no others.

The API says of the effect NoExecute: "Evict any already-running pods that do not tolerate the
device taint." A pod may stay for the `tolerationSeconds` of its toleration, which are counted here
from when the taint was seen, and for `IN_TIME_S`, because a controller does not act at once.
Examined are pods that were evicted, and those that used a tainted device for longer than that. In
runs with faults the controller may be late by any time, and nothing is examined.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.checks import check_results, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.observed import observations
from harness.checks.taints import device_uses
from harness.history import plans

IN_TIME_S = 10.0
"""Seconds after its time in which a pod must be deleted."""
EARLY_S = 2.0
"""Seconds by which a pod may be evicted before its time: times of taints have whole seconds, and
the recorder sees a taint later than the controller may."""
KNOWN = "known as H23: a toleration without an effect does not keep a pod on its device"
_NS = 1_000_000_000
_STREAMS = (*("pods", "resourceclaims"), *("resourceslices", "devicetaintrules"))


def applies(plan: plans.Plan) -> bool:
    """Return whether devices get NoExecute taints, and a controller evicts pods by them."""
    controller = (plan.settings.get("subject") or {}).get("claim_controller")
    is_known = controller in ("python", "cluster") or isinstance(controller, Mapping)
    is_observed = observations.SLICES in plan.resources and not plan.faults
    return is_known and is_observed and _evicts(plan.settings.get("pools") or {})


def _evicts(pools: Mapping[str, Any]) -> bool:
    taints = [taint for kind in pools.get("more") or () for taint in kind.get("taints") or ()]
    taints += [item for item in pools.get("changes") or () if item.get("kind") == "taint"]
    of_files = (pools.get("imported") or {}).get("has") or ()
    is_described = any(taint.get("effect") == device_uses.NO_EXECUTE for taint in taints)
    return is_described or not {"taints", "taint-rules"}.isdisjoint(of_files)


CHECK = protocol.Check(
    name="evicted_pods",
    guarantee="N",
    promise="a pod is evicted in time if a device of it gets a NoExecute taint that it does not "
    "tolerate, and only then",
    applies=applies,
    needs=(hold_history.HoldHistory, device_uses.DeviceUses),
    judge=lambda evidence: check(
        evidence[device_uses.DeviceUses],
        has_gaps=any(evidence[hold_history.HoldHistory].stream(name).gaps for name in _STREAMS),
    ),
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Finding:
    """A pod that stayed too long, or was evicted without a reason."""

    pod: device_uses.PodTimes
    claims: Sequence[Any]
    told: str

    @property
    def summary(self) -> str:
        return f"pod {self.pod.involved.name} {self.told}"


def check(uses: device_uses.DeviceUses, *, has_gaps: bool) -> verdicts.Answer:
    """Return INVALID with the pods that stayed too long, or were evicted without a reason.

    UNKNOWN if versions may be missing, not examined if no pod had a device with such a taint.
    """
    if has_gaps:
        return CHECK.unknown("versions of pods, claims, slices or rules may be missing")
    by_pod: dict[str, list[device_uses.Use]] = {}
    for use in uses.uses:
        by_pod.setdefault(use.pod, []).append(use)
    evicted = [uid for uid, pod in uses.pods.items() if pod.evicted_ns is not None]
    stayed = {uid: list(_long_uses(uses, by_pod[uid])) for uid in by_pod if uid in uses.pods}
    examined = {*evicted, *(uid for uid, listed in stayed.items() if listed)}
    if not examined:
        return CHECK.not_examined("no pod used a device with a NoExecute taint for long enough")
    found = [_late(uses.pods[uid], listed) for uid, listed in stayed.items() if any(listed)]
    found += [
        _Finding(uses.pods[uid], [], _wrong(uses, uid, by_pod.get(uid, []))) for uid in evicted
    ]
    found = [item for item in found if item.told]
    return check_results.of_found(
        CHECK,
        found,
        verdict=check_results.verdict(found, is_kept=True),
        examined_count=len(examined),
        violation=_violation,
        summary=lambda item: item.summary,
        reason=_reason(found, len(examined), len(evicted)),
    )


def _long_uses(
    uses: device_uses.DeviceUses, of_pod: Sequence[device_uses.Use]
) -> Iterator[tuple[device_uses.Use, device_uses.Tainting, float] | None]:
    """Yield for how long, in seconds, the pod stayed beyond its time; None: it tolerated a taint.

    Only uses of a tainted device are told that lasted long enough to be examined.
    """
    for use in of_pod:
        pod = uses.pods[use.pod]
        for taint, span in uses.taints_of(use.device):
            begin = max(use.span.since_ns, pod.bound_ns, span.since_ns)
            end = min(use.span.until_ns, pod.ended_ns, span.until_ns, uses.end_ns)
            tolerated_s = tolerated_for_s(use.tolerations, taint)
            due = max(begin, span.since_ns + tolerated_s * _NS)
            if tolerated_s == math.inf and end > begin + IN_TIME_S * _NS:
                yield None
            elif end > due + IN_TIME_S * _NS:
                yield use, taint, (end - due) / _NS


def tolerated_for_s(
    tolerations: Sequence[Any], taint: device_uses.Tainting, *, theirs: bool = False
) -> float:
    """Return for how many seconds a taint is tolerated; infinite: for ever.

    `theirs`: as Kubernetes' own controller counts, without tolerations that name no effect. The
    shortest toleration counts. Seconds are those of tolerations with the effect NoExecute.
    """
    counted = [item for item in tolerations if item.get("effect") or not theirs]
    limits = [_seconds(item) for item in counted if _matches(item, taint)]
    return max(min(limits, default=0.0), 0.0)


def _seconds(toleration: Any) -> float:
    seconds = toleration.get("tolerationSeconds")
    if seconds is None or toleration.get("effect") != device_uses.NO_EXECUTE:
        return math.inf
    return float(seconds)


def _matches(toleration: Any, taint: device_uses.Tainting) -> bool:
    if (toleration.get("effect") or device_uses.NO_EXECUTE) != device_uses.NO_EXECUTE:
        return False
    if (toleration.get("key") or taint.key) != taint.key:
        return False
    is_any = toleration.get("operator") == "Exists"
    return is_any or (toleration.get("value") or "") == taint.value


def _late(
    pod: device_uses.PodTimes,
    listed: Sequence[tuple[device_uses.Use, device_uses.Tainting, float] | None],
) -> _Finding:
    use, taint, late_s = max(filter(None, listed), key=lambda item: item[2])
    told = (
        f"used {use.device} for {late_s:.1f} s after its taint {taint.key}:NoExecute should have "
        "evicted it"
    )
    return _Finding(pod, [use.claim], told)


def _wrong(uses: device_uses.DeviceUses, uid: str, of_pod: Sequence[device_uses.Use]) -> str:
    """Return why an evicted pod should not have been evicted then, and by whom it was."""
    told, by = _early(uses, of_pod), uses.pods[uid].evicted_by
    if told and not _early(uses, of_pod, theirs=True):
        told += f" ({KNOWN})"
    return told.replace("evicted", f"evicted by {by}", 1) if by else told


def _early(
    uses: device_uses.DeviceUses, of_pod: Sequence[device_uses.Use], *, theirs: bool = False
) -> str:
    """Return why an evicted pod should not have been evicted then; empty: it should."""
    if not of_pod:
        return "was evicted, although it has never used a device"
    evicted_ns = uses.pods[of_pod[0].pod].evicted_ns or 0
    reasons = [
        span.since_ns + tolerated_for_s(use.tolerations, taint, theirs=theirs) * _NS
        for use in of_pod
        for taint, span in uses.taints_of(use.device)
        if span.until_ns > evicted_ns - EARLY_S * _NS and use.span.since_ns < evicted_ns
    ]
    due = min(reasons, default=math.inf)
    if due == math.inf:
        return "was evicted, although its devices had no NoExecute taint that it does not tolerate"
    if evicted_ns < due - EARLY_S * _NS:
        return f"was evicted {(due - evicted_ns) / _NS:.1f} s before its time"
    return ""


def _reason(found: Sequence[_Finding], examined: int, evicted: int) -> str:
    told = f"{examined} pods examined, {evicted} of them evicted"
    if not found:
        return told
    return f"{found[0].summary}{f', and {len(found) - 1} more' * (len(found) > 1)}; {told}"


def _violation(item: _Finding) -> verdicts.Violation:
    involved = item.pod.involved
    return verdicts.Violation(
        guarantee=CHECK.name,
        summary=item.summary,
        text=f"Pod {involved.namespace}/{involved.name} (uid {involved.uid}) {item.told}.",
        resource_versions=[item.pod.evicted_rv] if item.pod.evicted_rv else [],
        objects=[involved, *item.claims],
    )
