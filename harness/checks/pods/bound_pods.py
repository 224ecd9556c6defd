"""The check of bindings: when a pod is bound, its claims are allocated and reserved for it there.

The API promises (resource.k8s.io/v1, ResourceClaimStatus.reservedFor): "ReservedFor indicates which
entities are currently allowed to use the claim. A Pod which references a ResourceClaim which is not
reserved for that Pod will not be started", and (AllocationResult.nodeSelector): "NodeSelector
defines where the allocated resources are available." A scheduler that binds a pod has therefore
written the allocations and the reservations before, and has chosen a node that suits all of them.

At the version of the binding all of this must hold. Where a nemesis confuses the schedulers, or
another client moves claims, a reservation may have ended before a binding that was late, as in the
hazards H10 and H19; there it must have held at some version before. That is enough, too, for a pod
of which the API server removed an allocated claim in spite of its finalizer; of such a pod, another
claim may have been made and recorded before the binding.
"""

import dataclasses
from collections.abc import Sequence

from harness.checks import check_results, protocol, verdicts
from harness.checks.devices import device_catalogue, node_selectors
from harness.checks.faults import drawn_faults
from harness.checks.observed import observations
from harness.checks.pods import pod_bindings
from harness.history import plans
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import fault

_RESTS_ON = (observations.PODS, observations.CLAIMS, observations.NODES)


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe the guarantee."""
    return set(_RESTS_ON) <= set(plan.resources)


def _is_lenient(plan: plans.Plan) -> bool:
    """Return whether a reservation may have ended before the binding."""
    is_moved = any(
        fault_kinds.of(item.kind).effect is fault.Effect.MOVED_CLAIM for item in plan.faults
    )
    return is_moved or drawn_faults.confuse_schedulers(plan)


@dataclasses.dataclass(frozen=True, slots=True)
class _Wrong:
    """A binding with what is wrong about its claims, one clause each."""

    binding: pod_bindings.Binding
    problems: Sequence[str]


CHECK = protocol.Check(
    name="bound_pods",
    guarantee="N",
    promise=(
        "a pod is bound when its claims are allocated and reserved for it, to a node that suits them"
    ),
    applies=applies,
    needs=(pod_bindings.PodBindings, device_catalogue.DeviceCatalogue),
    judge=lambda evidence: check(
        evidence[pod_bindings.PodBindings],
        evidence[device_catalogue.DeviceCatalogue],
        evidence.plan,
    ),
)


def check(
    bound: pod_bindings.PodBindings,
    catalogue: device_catalogue.DeviceCatalogue,
    plan: plans.Plan,
) -> verdicts.Answer:
    """Return INVALID with the wrong bindings; NotExamined if there is nothing."""
    gaps = bound.gaps.intersection(_RESTS_ON)
    examined = bound.bindings
    if gaps or not examined:
        missing = f"versions of {', '.join(sorted(gaps))} may be missing"
        why = missing if gaps else "no pod with claims was bound"
        return CHECK.not_examined(f"{why}, so nothing was examined")
    judge = _Judge(bound, catalogue, is_lenient=_is_lenient(plan))
    found = [_Wrong(item, problems) for item in examined if (problems := judge.problems(item))]
    found.sort(key=lambda item: item.binding.version)
    chosen = check_results.in_full(len(found), found.index(_worst(found)) if found else 0)
    others = [item for position, item in enumerate(found) if position not in chosen]
    return verdicts.CheckResult(
        check=CHECK.name,
        promise=CHECK.promise,
        verdict=verdicts.Verdict.INVALID if found else verdicts.Verdict.VALID,
        examined_count=len(examined),
        violation_count=len(found),
        violations=[_violation(found[position]) for position in chosen],
        others=[_summary(item) for item in others[: check_results.OTHERS_MAX]],
        reason=_reason(examined, found),
    )


class _Judge:
    def __init__(
        self,
        bound: pod_bindings.PodBindings,
        catalogue: device_catalogue.DeviceCatalogue,
        *,
        is_lenient: bool,
    ) -> None:
        self._bound, self._catalogue, self._is_lenient = bound, catalogue, is_lenient
        self._suitable: dict[tuple[int, str, int], bool] = {}
        """Identity of a selector, node, epoch of the catalogue -> whether it admits the node."""

    def problems(self, binding: pod_bindings.Binding) -> list[str]:
        """Return what is wrong with a binding, one clause for each claim."""
        clauses = [self._problem(binding, entry, name) for entry, name in binding.claims.items()]
        return [clause for clause in clauses if clause]

    def _problem(self, binding: pod_bindings.Binding, entry: str, claim: str | None) -> str:
        is_robbed = binding.uid in self._bound.robbed
        if claim is None:
            return f"no claim had been made for its entry {entry}"
        reserved = [
            item
            for item in self._bound.reservations(binding, claim)
            if self._is_lenient or is_robbed or item.until is None or item.until > binding.version
        ]
        if not reserved and is_robbed:
            return ""
        if not reserved:
            return f"claim {claim} was not allocated and reserved for it"
        if not any(self._suits(item, binding) for item in reserved):
            return f"the allocation of claim {claim} does not admit node {binding.node}"
        return ""

    def _suits(self, item: pod_bindings.Reservation, binding: pod_bindings.Binding) -> bool:
        key = id(item.node_selector), binding.node, self._catalogue.epoch(binding.version)
        if key not in self._suitable:
            self._suitable[key] = self._admits(item, binding)
        return self._suitable[key]

    def _admits(self, item: pod_bindings.Reservation, binding: pod_bindings.Binding) -> bool:
        known = self._catalogue.nodes(binding.node, binding.version) or [{}]
        try:
            return any(
                node_selectors.admits(item.node_selector, binding.node, labels) for labels in known
            )
        except node_selectors.UnknownSelectorError:
            return True  # doubt is no violation


def _worst(found: Sequence[_Wrong]) -> _Wrong:
    """Return the first of those with most wrong claims."""
    return max(found, key=lambda item: len(item.problems))


def _reason(examined: Sequence[pod_bindings.Binding], found: Sequence[_Wrong]) -> str:
    of = f"{len(examined)} {'binding' if len(examined) == 1 else 'bindings'}"
    if not found:
        return f"{of} examined; all claims were allocated and reserved on the nodes of their pods"
    parts = [f"{len(found)} of {of} wrong, the first: {_summary(found[0])}"]
    worst = _worst(found)
    if worst is not found[0]:
        parts.append(f"the worst: {_summary(worst)}")
    if found[-1] not in (found[0], worst):
        parts.append(f"the last: {_summary(found[-1])}")
    return "; ".join(parts)


def _summary(item: _Wrong) -> str:
    return f"pod {item.binding.name}: {item.problems[0]}"


def _violation(item: _Wrong) -> verdicts.Violation:
    binding = item.binding
    return verdicts.Violation(
        guarantee=CHECK.name,
        summary=_summary(item),
        text=(
            f"Pod {binding.namespace}/{binding.name} (uid {binding.uid}) was bound to node "
            f"{binding.node} at resourceVersion {binding.version}: {'; '.join(item.problems)}."
        ),
        resource_versions=[binding.version],
        objects=[
            verdicts.InvolvedObject(
                kind="Pod", namespace=binding.namespace, name=binding.name, uid=binding.uid
            ),
            *(
                verdicts.InvolvedObject(
                    kind="ResourceClaim", namespace=binding.namespace, name=claim, uid=""
                )
                for claim in binding.claims.values()
                if claim
            ),
        ],
    )
