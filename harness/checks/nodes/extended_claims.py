"""The check of extended resources: a pod that runs has a claim of its own for what it asks for.

Such a pod names no claim in its spec. If the scheduler forgot to create, allocate or reserve the
claim, or to name it in the pod's status, the kubelet would start the pod without its devices, and
no other check would miss them.

Nor does the status of a bound pod change to another claim that is gone by then, or was made for
another pod, as when a patch comes late (hazard H16): kubelet and claim controller go by that name.
"""

import bisect
import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.checks import findings, object_plans, protocol, scripted_plans, verdicts
from harness.checks.nodes import extended_resources
from harness.checks.observed import folders, observations, observed_claims, observed_pods
from harness.history import plans, records


@dataclasses.dataclass(slots=True)
class ExtendedClaims(folders.Folder):
    """The pods as they began to run, and all versions of claims for extended resources."""

    running: dict[str, observed_pods.Pod] = dataclasses.field(default_factory=dict)
    """Pods by UID, each as it was first seen Running."""
    renamed: list[observed_pods.Pod] = dataclasses.field(default_factory=list)
    """Bound pods in each version whose status names another claim than the one before."""
    _named: dict[str, str] = dataclasses.field(default_factory=dict)
    """UID of a pod -> the claim that its status names."""
    has_gap: bool = False
    """Versions of pods or claims may be missing."""
    _versions: dict[str, list[tuple[int, observed_claims.Claim | None]]] = dataclasses.field(
        default_factory=dict
    )
    """Keyed by `namespace/name`, in the order of their versions; None: it was gone."""

    def see_pod(self, seen: observations.SeenPod) -> None:
        pod = seen.object
        if seen.is_gone:
            return
        if pod.status.phase == "Running":
            self.running.setdefault(pod.metadata.uid, pod)
        if (named := pod.status.extended_resource_claim_status) is not None:
            before = self._named.get(pod.metadata.uid, named.resource_claim_name)
            if before != named.resource_claim_name and pod.spec.node_name:
                self.renamed.append(pod)
            self._named[pod.metadata.uid] = named.resource_claim_name

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note a version of a claim that the scheduler made for an extended resource."""
        if not extended_resources.is_made_for_one(seen.object):
            return
        known = self._versions.setdefault(seen.object.metadata.key, [])
        claim = None if seen.is_gone else seen.object
        bisect.insort(known, (seen.version, claim), key=lambda item: item[0])

    def see_gap(self, gap: records.Gap) -> None:
        """Note that versions may be missing."""
        del gap
        self.has_gap = True

    def claim_at(self, key: str, version: int) -> observed_claims.Claim | None:
        """Return a claim as it was at a version of any object; None: there was none."""
        known = self._versions.get(key, [])
        position = bisect.bisect_right(known, version, key=lambda item: item[0])
        return known[position - 1][1] if position else None


def applies(plan: plans.Plan) -> bool:
    """Return whether the pods of this plan ask for an extended resource."""
    asks = (plan.settings.get("claim") or {}).get("extended")
    asks = asks or object_plans.extended_resources(plan.settings)
    return bool(asks) or scripted_plans.has_extended_pods(plan.settings)


CHECK = protocol.Check(
    name="extended_claims",
    guarantee="G",
    promise="every pod that runs has the devices of its extended resource by a claim of its own",
    applies=applies,
    needs=(ExtendedClaims,),
    judge=lambda evidence: check(evidence.plan.settings, evidence[ExtendedClaims]),
)


def check(settings: Mapping[str, Any], seen: ExtendedClaims) -> verdicts.CheckResult:
    """Return INVALID with the pods that lack something or name a wrong claim, VALID without any.

    UNKNOWN if no pod ran, or if one lacks something that may be in a gap of the observations.
    `settings` are those of the plan.
    """
    resource = extended_resources.ExtendedResource(settings)
    asking = [pod for pod in seen.running.values() if resource.devices_for(pod)]
    lacking = {
        pod.metadata.uid: _finding(pod, f"runs without its extended resource: {why}")
        for pod in asking
        if (why := _lack(pod, resource, seen))
    }
    misnamed = [
        _finding(pod, why)
        for pod in seen.renamed
        if pod.metadata.uid not in lacking and (why := _misnamed(pod, seen))
    ]
    wrong = [*lacking.values(), *misnamed]
    return findings.result(
        CHECK,
        [] if seen.has_gap else wrong,
        is_kept=bool(asking and not wrong),
        examined=len(asking),
        reason=_reason(len(asking), wrong, has_gap=seen.has_gap),
    )


def _reason(asking: int, wrong: Sequence[findings.Finding], *, has_gap: bool) -> str:
    if wrong and has_gap:
        return f"the observations have a gap; otherwise {wrong[0].summary}"
    if wrong:
        return findings.first(wrong)
    if not asking:
        return "no pod with an extended resource was seen Running, so nothing was examined"
    return f"{asking} pods ran with a claim of their own for their extended resource"


def _misnamed(pod: observed_pods.Pod, seen: ExtendedClaims) -> str:
    """Return why the claim is wrong that a bound pod's status came to name; empty: it is not."""
    named = pod.status.extended_resource_claim_status
    if named is None:
        return ""
    name, meta = named.resource_claim_name, pod.metadata
    claim = seen.claim_at(f"{meta.namespace}/{name}", int(meta.resource_version))
    if claim is None:
        return f"names the claim {name} in its status, which is gone"
    is_own = claim.metadata.owner == meta.uid
    return "" if is_own else f"names the claim {name} in its status, which is not its own"


def _lack(
    pod: observed_pods.Pod,
    resource: extended_resources.ExtendedResource,
    seen: ExtendedClaims,
) -> str | None:
    """Return what the pod lacked when it began to run; None if it had everything."""
    named = pod.status.extended_resource_claim_status
    if named is None:
        return "its status names no claim"
    key = f"{pod.metadata.namespace}/{named.resource_claim_name}"
    claim = seen.claim_at(key, int(pod.metadata.resource_version))
    if claim is None:
        return f"the claim {named.resource_claim_name} is not there"
    if claim.metadata.owner != pod.metadata.uid:
        return f"the claim {claim.metadata.name} is not its own"
    if pod.metadata.uid not in {item.uid for item in claim.status.reserved_for or ()}:
        return f"the claim {claim.metadata.name} is not reserved for it"
    if len(claim.results) != resource.devices_for(pod):
        return (
            f"the claim {claim.metadata.name} has {len(claim.results)} devices, and it needs "
            f"{resource.devices_for(pod)}"
        )
    return _unmapped(pod, resource, named, claim)


def _unmapped(
    pod: observed_pods.Pod,
    resource: extended_resources.ExtendedResource,
    named: observed_pods.ExtendedClaim,
    claim: observed_claims.Claim,
) -> str | None:
    """Return what is wrong with the requests that containers are mapped to; None: nothing.

    A container that runs until the end has exactly the devices that it asks for, and shares them
    with none that does. An init container may use those of the containers after it.
    """
    counts = collections.Counter(result.request for result in claim.results)
    mapped = _mapped(named)
    users: dict[str, str] = {}
    for container, runs_on in _containers(pod):
        amount, requests = resource.amount(container), mapped.pop(container.name, set())
        name, got = container.name, sum(counts[request] for request in requests)
        if unknown := sorted(requests - counts.keys()):
            return f"its container {name} is mapped to {unknown[0]}, for which there is no device"
        if amount and not requests:
            return f"its container {name} is mapped to no request"
        if got < amount or (runs_on and got != amount):
            return f"its container {name} is mapped to {got} devices, and asks for {amount}"
        for request in sorted(requests) if runs_on else ():
            if (other := users.setdefault(request, name)) != name:
                return f"its containers {other} and {name} are mapped to the same request"
    return f"its status maps {min(mapped)}, which is no container of it" if mapped else None


def _mapped(named: observed_pods.ExtendedClaim) -> dict[str, set[str]]:
    found: dict[str, set[str]] = collections.defaultdict(set)
    for item in named.request_mappings or ():
        found[item.container_name].add(item.request_name)
    return found


def _containers(pod: observed_pods.Pod) -> Iterator[tuple[observed_pods.Container, bool]]:
    """Yield the containers of a pod, each with whether it runs until the end."""
    for container in pod.spec.init_containers or ():
        yield container, container.restart_policy == "Always"
    for container in pod.spec.containers or ():
        yield container, True


def _finding(pod: observed_pods.Pod, told: str) -> findings.Finding:
    meta = pod.metadata
    return findings.Finding(
        summary=f"pod {meta.name} {told}",
        text=f"Pod {meta.key} (uid {meta.uid}) {told}",
        versions=(int(meta.resource_version),),
        objects=[pod.involved],
    )
