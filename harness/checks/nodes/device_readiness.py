"""The check of binding conditions: pods are bound when their devices are ready, and not before.

Allocated devices may name conditions that a driver reports in the claim's status (KEP-5007). The
newest version of each claim before a pod was bound has to show all of them true, and none of those
that mean failure. Both are recorded API objects, whose resourceVersions give their order.
"""

import bisect
from collections.abc import Iterator, Sequence

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import folders, observations, observed_claims, pod_lives

_Key = tuple[str, str]
"""Namespace and name."""
_State = tuple[str, ...] | None
"""Why devices of a claim are not ready, empty if they are; None: they have no conditions."""


class DeviceReadiness(folders.Folder):
    """When devices of claims became ready."""

    def __init__(self) -> None:
        self._states: dict[_Key, list[tuple[int, _State]]] = {}
        """The states of a claim, each with the resourceVersion since which it had it, in order."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        state = None if seen.is_gone else _state_of(seen.object)
        key = seen.object.metadata.namespace, seen.object.metadata.name
        states = self._states.setdefault(key, [])
        if not states or states[-1][1] != state:
            states.append((seen.version, state))

    def before(self, key: _Key, rv: int) -> tuple[int, _State]:
        """Return the state of a claim before a version, and since when it had it."""
        states = self._states.get(key, [])
        count = bisect.bisect_left(states, rv, key=lambda item: item[0])
        return states[count - 1] if count else (0, None)


def _state_of(claim: observed_claims.Claim) -> _State:
    if claim.status.allocation is None:
        return None
    results = claim.status.allocation.devices.results
    awaited = [result for result in results if result.binding_conditions]
    if not awaited:
        return None
    reported = {_key_of(item): item.conditions or () for item in claim.status.devices or ()}
    return tuple(
        problem
        for result in awaited
        for problem in _problems(result, reported.get(_key_of(result), ()))
    )


def _key_of(
    item: observed_claims.AllocationResult | observed_claims.DeviceStatus,
) -> tuple[str, str, str, str | None]:
    return item.driver, item.pool, item.device, item.share


def _problems(
    result: observed_claims.AllocationResult, conditions: Sequence[observed_claims.Condition]
) -> Iterator[str]:
    true = {item.type for item in conditions if item.status == "True"}
    name = "/".join((result.driver, result.pool, result.device))
    for kind in result.binding_conditions or ():
        if kind not in true:
            yield f"{kind} of {name} was not true"
    for kind in result.binding_failure_conditions or ():
        if kind in true:
            yield f"{kind} of {name} was true"


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with the pods bound too early, UNKNOWN if no device had conditions.

    NotExamined if no pod got such a device, and the plan describes none: of those in files it may
    use others.
    """
    seen, count, early = evidence[DeviceReadiness], 0, []
    for pod in evidence[pod_lives.PodLives].pods.values():
        rv = pod.bound_rv
        for name in pod.claims_at_binding if rv is not None else ():
            since, missing = seen.before((pod.namespace, name), rv or 0)
            count += missing is not None
            if missing:
                early.append(_finding(pod, name, since, missing))
    if not count:
        none = CHECK.not_examined(
            "no pod with a device that has to be made ready was bound, so nothing was examined"
        )
        is_owed = plan_facts.kinds_have(evidence.plan, "binding_conditions")
        return none.as_unknown() if is_owed else none
    reason = f"{count} pods were bound when their devices were ready"
    if early:
        reason = f"{early[0].summary}; {len(early)} of {count} pods were bound too early"
    return findings.result(CHECK, early, examined=count, reason=reason)


CHECK = protocol.Check(
    name="device_readiness",
    guarantee="N",
    promise="no pod is bound before its devices are ready",
    applies=lambda plan: (
        plan_facts.kinds_have(plan, "binding_conditions")
        or plan_facts.files_have(plan, "binding-conditions")
    ),
    needs=(DeviceReadiness, pod_lives.PodLives),
    judge=judge,
)


def _finding(
    pod: pod_lives.PodLife, claim: str, claim_rv: int, missing: tuple[str, ...]
) -> findings.Finding:
    return findings.Finding(
        summary=f"pod {pod.name} was bound before its devices were ready",
        text=f"Pod {pod.namespace}/{pod.name} was bound to {pod.node} at resourceVersion "
        f"{pod.bound_rv}. Claim {pod.namespace}/{claim} was as of resourceVersion {claim_rv}: "
        + ", ".join(missing),
        versions=(claim_rv, pod.bound_rv or 0),
        objects=[pod.involved],
    )
