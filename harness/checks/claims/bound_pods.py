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

A pod that names its node when it is created was not scheduled; the claim controller reserves its
claims later. Such pods are left out.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.devices import device_catalogue
from harness.checks.observed import claim_versions, observations, pod_lives
from harness.history import plans
from harness.model.fault_effects import Effect

_RESTS_ON = (observations.PODS, observations.CLAIMS, observations.NODES)
_User = tuple[str, int]
"""A pod's uid, or `group …`, that may use a claim, and the identity of the claim's allocation. The
versions that hold the allocations are kept, so that no identity is given away again."""


def applies(plan: plans.Plan) -> bool:
    return set(_RESTS_ON) <= set(plan.resources)


def _is_lenient(plan: plans.Plan) -> bool:
    is_moved = plan_facts.plans_effect(plan, Effect.MOVED_CLAIM)
    return is_moved or plan_facts.confuses_schedulers(plan)


class Binding(NamedTuple):
    """A pod that a scheduler has bound to a node."""

    pod: pod_lives.PodLife
    rv: int
    claims: Mapping[str, str | None]
    """Entry of the pod -> name of its claim; None: its status has named none so far."""


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    catalogue = evidence[device_catalogue.DeviceCatalogue]
    pods, claims = evidence[pod_lives.PodLives], evidence[claim_versions.ClaimVersions]
    gaps = catalogue.gaps.intersection(_RESTS_ON)
    bindings = _bindings(pods)
    if gaps or not bindings:
        missing = f"versions of {', '.join(sorted(gaps))} may be missing"
        why = missing if gaps else "no pod with claims was bound"
        return CHECK.not_examined(f"{why}, so nothing was examined")
    judge = _Judge(claims, catalogue, is_lenient=_is_lenient(evidence.plan))
    judged = [(item, judge.problems(item)) for item in bindings]
    found = [_finding(item, problems) for item, problems in judged if problems]
    found.sort(key=lambda item: item.versions[0])
    of, worst = verdicts.counted(len(bindings), "binding"), findings.worst(found)
    reason = f"{of} examined; all claims were allocated and reserved on the nodes of their pods"
    if found:
        reason = findings.wrong_of(len(found), of, worst, lambda index: found[index].summary)
    return findings.result(CHECK, found, examined=len(bindings), reason=reason, worst=worst)


CHECK = protocol.Check(
    name="bound_pods",
    guarantee="N",
    promise=(
        "a pod is bound when its claims are allocated and reserved for it, to a node that suits them"
    ),
    applies=applies,
    needs=(pod_lives.PodLives, claim_versions.ClaimVersions, device_catalogue.DeviceCatalogue),
    judge=judge,
)


def _bindings(pods: pod_lives.PodLives) -> list[Binding]:
    return [
        Binding(pod, pod.bound_rv, claims)
        for pod in pods.pods.values()
        if pod.bound_rv is not None
        and not (pod.bound_by_user or pod.bound_in_list)
        and (claims := _claims_of(pod))
    ]


def _claims_of(pod: pod_lives.PodLife) -> dict[str, str | None]:
    """Return the claims that a pod needed when it was bound; a name that was known stays."""
    known = {
        entry: name
        for item in pod.recorded_until(pod.bound_rv)
        for entry, name in item.names.items()
        if name
    }
    recorded = pod.recorded
    found = {
        entry.name: entry.resource_claim_name or known.get(entry.name)
        for entry in pod.entries
        if entry.resource_claim_name or entry.name in known or entry.name not in recorded
    }
    return found | {"extended resources": pod.extended} if pod.extended else found


class _Judge:
    def __init__(
        self,
        claims: claim_versions.ClaimVersions,
        catalogue: device_catalogue.DeviceCatalogue,
        *,
        is_lenient: bool,
    ) -> None:
        self._robbed, self._catalogue, self._is_lenient = claims.robbed, catalogue, is_lenient
        self._reserved = collections.defaultdict[
            tuple[str, str, str], list[claim_versions.Span[_User]]
        ](list)
        """Keyed by namespace and name of the claim and its user."""
        for span in claims.spans(_users, across_gaps=True):
            self._reserved[span.claim.namespace, span.claim.name, span.key[0]].append(span)
        self._suitable: dict[tuple[int, str, int], bool] = {}
        """Allocation, node, epoch of the catalogue -> whether the allocation admits the node."""

    def problems(self, binding: Binding) -> list[str]:
        clauses = [self._problem(binding, entry, name) for entry, name in binding.claims.items()]
        return [clause for clause in clauses if clause]

    def _problem(self, binding: Binding, entry: str, claim: str | None) -> str:
        pod = binding.pod
        if claim is None:
            return f"no claim had been made for its entry {entry}"
        is_robbed = pod.uid in self._robbed
        reserved = [
            item
            for user in filter(None, (pod.uid, pod.group and f"group {pod.group}"))
            for item in self._reserved.get((pod.namespace, claim, user), ())
            if item.begin.rv < binding.rv
            and (self._is_lenient or is_robbed or item.end is None or item.end.rv > binding.rv)
        ]
        if not reserved and is_robbed:
            return ""
        if not reserved:
            return f"claim {claim} was not allocated and reserved for it"
        if not any(self._suits(item, binding) for item in reserved):
            return f"the allocation of claim {claim} does not admit node {pod.node}"
        return ""

    def _suits(self, item: claim_versions.Span[_User], binding: Binding) -> bool:
        key = item.key[1], binding.pod.node, self._catalogue.epoch(binding.rv)
        if key not in self._suitable:
            self._suitable[key] = self._admits(item.value, binding)
        return self._suitable[key]

    def _admits(self, selector: Any, binding: Binding) -> bool:
        node = binding.pod.node
        known = self._catalogue.nodes(node, binding.rv) or [{}]
        try:
            return any(device_catalogue.admits(selector, node, labels) for labels in known)
        except device_catalogue.UnknownSelectorError:
            return True  # doubt is no violation


def _users(version: claim_versions.Version) -> dict[_User, Any]:
    """Return what may use a claim, with the node selector; nothing unless it is allocated."""
    if version.allocation is None:
        return {}
    users = [
        item.uid if item.resource == observations.PODS else f"group {item.name}"
        for item in version.consumers
        if item.resource in (observations.PODS, observations.POD_GROUPS)
    ]
    allocation = version.allocation
    return {(user, id(allocation)): allocation.node_selector for user in users}


def _finding(binding: Binding, problems: Sequence[str]) -> findings.Finding:
    pod = binding.pod
    claims = [
        verdicts.InvolvedObject(kind="ResourceClaim", namespace=pod.namespace, name=claim, uid="")
        for claim in filter(None, binding.claims.values())
    ]
    return findings.Finding(
        summary=f"pod {pod.name}: {problems[0]}",
        text=f"Pod {pod} was bound to node {pod.node} at resourceVersion {binding.rv}: "
        + "; ".join(problems),
        versions=(binding.rv,),
        objects=[pod.involved, *claims],
        weight=len(problems),
    )
