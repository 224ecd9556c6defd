"""The check of binding conditions: pods are bound when their devices are ready, and not before.

Allocated devices may name conditions that a driver reports in the claim's status (KEP-5007). The
newest version of each claim before a pod was bound has to show all of them true, and none of those
that mean failure. Both are recorded API objects, whose resourceVersions give their order.
"""

import bisect
import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks import check_results, protocol, verdicts
from harness.checks.observed import folders, observations, observed_claims, observed_pods
from harness.history import plans

_Key = tuple[str, str]
"""Namespace and name."""
_State = tuple[str, ...] | None
"""Why devices of a claim are not ready, empty if they are; None: they have no conditions."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Binding:
    """A pod when it was seen bound for the first time."""

    pod: observed_pods.Pod
    version: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Early:
    """A pod that was bound although devices of a claim were not ready."""

    binding: _Binding
    claim: _Key
    claim_version: int
    missing: tuple[str, ...]


class DeviceReadiness(folders.Folder):
    """When devices of claims became ready, and when pods were bound."""

    def __init__(self) -> None:
        self._versions: dict[_Key, list[int]] = {}
        """The resourceVersions at which the state of a claim changed, in order."""
        self._states: dict[_Key, list[_State]] = {}
        """Its states since then."""
        self._bound: dict[str, _Binding] = {}
        """Keyed by uid of the pod."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        self._note(seen, None if seen.is_gone else _state_of(seen.object))

    def see_pod(self, seen: observations.SeenPod) -> None:
        if seen.object.spec.node_name:
            uid = seen.object.metadata.uid
            self._bound.setdefault(uid, _Binding(seen.object, seen.version))

    def _note(self, seen: observations.SeenClaim, state: _State) -> None:
        key = seen.object.metadata.namespace, seen.object.metadata.name
        states = self._states.setdefault(key, [])
        if not states or states[-1] != state:
            states.append(state)
            self._versions.setdefault(key, []).append(seen.version)

    def examined(self) -> tuple[int, list[_Early]]:
        """Return the number of uses of devices with conditions, and those that were too early."""
        count, early = 0, []
        for binding in self._bound.values():
            for key in _claims_of(binding.pod):
                index = bisect.bisect_left(self._versions.get(key, []), binding.version) - 1
                state = self._states[key][index] if index >= 0 else None
                if state is None:
                    continue
                count += 1
                if state:
                    version = self._versions[key][index]
                    early.append(
                        _Early(binding=binding, claim=key, claim_version=version, missing=state)
                    )
        return count, early


def _claims_of(pod: observed_pods.Pod) -> list[_Key]:
    return [(pod.metadata.namespace, name) for name in pod.claim_names.values()]


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


def applies(plan: plans.Plan) -> bool:
    """Return whether devices of the plan's pools have binding conditions."""
    pools = plan.settings.get("pools") or {}
    imported = (pools.get("imported") or {}).get("has") or ()
    return _is_owed(plan) or "binding-conditions" in imported


def _is_owed(plan: plans.Plan) -> bool:
    """Return whether the scenario describes such devices; of those in files it may use others."""
    kinds = (plan.settings.get("pools") or {}).get("more") or ()
    return any(kind.get("binding_conditions") for kind in kinds)


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return the result; NotExamined if no pod got such a device, and the plan describes none."""
    found = check(evidence[DeviceReadiness])
    is_idle = found.is_vacuous and not _is_owed(evidence.plan)
    return found.as_not_examined() if is_idle else found


CHECK = protocol.Check(
    name="device_readiness",
    guarantee="N",
    promise="no pod is bound before its devices are ready",
    applies=applies,
    needs=(DeviceReadiness,),
    judge=judge,
)


def check(seen: DeviceReadiness) -> verdicts.CheckResult:
    """Return INVALID with the pods bound too early, UNKNOWN if no device had conditions."""
    count, early = seen.examined()
    return check_results.of_found(
        CHECK,
        early,
        verdict=check_results.verdict(early, is_kept=count > 0),
        examined_count=count,
        violation=_violation,
        summary=_summary,
        reason=_reason(count, early),
    )


def _reason(count: int, early: list[_Early]) -> str:
    if not count:
        return "no pod with a device that has to be made ready was bound, so nothing was examined"
    if early:
        return f"{_summary(early[0])}; {len(early)} of {count} pods were bound too early"
    return f"{count} pods were bound when their devices were ready"


def _summary(item: _Early) -> str:
    return f"pod {item.binding.pod.metadata.name} was bound before its devices were ready"


def _violation(item: _Early) -> verdicts.Violation:
    pod, (namespace, claim) = item.binding.pod, item.claim
    return verdicts.Violation(
        guarantee=CHECK.name,
        summary=_summary(item),
        text=(
            f"Pod {pod.metadata.namespace}/{pod.metadata.name} was bound to {pod.spec.node_name} at "
            f"resourceVersion {item.binding.version}. Claim {namespace}/{claim} was as of "
            f"resourceVersion {item.claim_version}: {', '.join(item.missing)}."
        ),
        resource_versions=sorted({item.claim_version, item.binding.version}),
        objects=[
            verdicts.InvolvedObject(
                kind="Pod",
                namespace=pod.metadata.namespace,
                name=pod.metadata.name,
                uid=pod.metadata.uid,
            )
        ],
    )
