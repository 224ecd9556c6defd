"""The check of extended resources: a pod that runs has a claim of its own for what it asks for.

Such a pod names no claim in its spec: the plan says which classes back which resources, and the
scheduler makes the claim. If it forgot to create, allocate or reserve the claim, or to name it in
the pod's status, the kubelet would start the pod without its devices, and no other check would miss
them.

Nor does the status of a bound pod change to another claim that is gone by then, or was made for
another pod, as when a patch comes late (hazard H16): kubelet and claim controller go by that name.
"""

import bisect
import collections
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import claim_versions, folders, observations, observed_pods
from harness.history import records

_IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class ExtendedResource:
    """The extended resources that the classes of the run back."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        pools = settings.get("pools") or {}
        offered = pools.get("device_class") or {}
        classes = _of_files(pools) | {offered.get("name") or "": offered.get("extended_resource")}
        self.names = {
            name: {_IMPLICIT_PREFIX + name, *filter(None, [resource])}
            for name, resource in classes.items()
        }
        """Class -> the names of its extended resources."""

    def kinds_for(self, pod: observed_pods.Pod) -> dict[tuple[str, ...], int]:
        """Return how many devices the containers of a pod need together, of each class that they
        need any of, as `observed_claims.ExactRequest.kind`.

        An init container ends before the containers begin, and uses the devices of those after it.
        """
        counts = {name: self._devices_for(pod, names) for name, names in self.names.items()}
        return {(name,): count for name, count in counts.items() if count}

    def devices_for(self, pod: observed_pods.Pod) -> int:
        return sum(self.kinds_for(pod).values())

    def amount(self, container: observed_pods.Container) -> int:
        return sum(_amount(container, names) for names in self.names.values())

    def _devices_for(self, pod: observed_pods.Pod, names: Collection[str]) -> int:
        later = sum(_amount(item, names) for item in pod.spec.containers or ())
        extra = 0
        for container in reversed(pod.spec.init_containers or []):
            amount = _amount(container, names)
            if container.restart_policy == "Always":
                later += amount
            else:
                extra = max(extra, amount - later)
        return later + extra


def _amount(container: observed_pods.Container, names: Collection[str]) -> int:
    """Return the amount; 0 for a quantity with a suffix, which users of a run do not write."""
    requests = container.resources.requests or {}
    texts = [str(requests.get(name, "0")) for name in names]
    return sum(int(text) for text in texts if text.isdecimal())


def _of_files(pools: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the classes of `pools.from` and their resources by the names in the cluster.

    With other users, a run inserts its id into both.
    """
    found: dict[str, str | None] = plan_facts.imported(pools).get("classes") or {}
    if not (owner := pools.get("owner")):
        return found
    return {f"{name}-{owner}": text and f"{owner}.{text}" for name, text in found.items()}


# ----------------------------------------------------------------------------- the check
class ExtendedPods(folders.Folder):
    """The pods as they began to run, and those whose status came to name another claim."""

    def __init__(self) -> None:
        self.running: dict[str, observed_pods.Pod] = {}
        """Pods by UID, each as it was first seen Running."""
        self.renamed: list[observed_pods.Pod] = []
        """Bound pods in each version whose status names another claim than the one before."""
        self.has_gap = False
        """Versions of pods or claims may be missing."""
        self._named: dict[str, str] = {}
        """UID of a pod -> the claim that its status names."""

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

    def see_gap(self, gap: records.Gap) -> None:
        del gap
        self.has_gap = True


class _Claims:
    def __init__(self, versions: claim_versions.ClaimVersions) -> None:
        made = (now for now in versions if now.claim.is_extended)
        self._by_key = collections.defaultdict[tuple[str, str], list[claim_versions.Version]](list)
        for now in sorted(made, key=lambda item: item.rv):
            self._by_key[now.claim.namespace, now.claim.name].append(now)

    def named_by(self, pod: observed_pods.Pod, name: str) -> claim_versions.Version | None:
        """Return a claim as it was at the version of a pod; None: there was none."""
        known = self._by_key.get((pod.metadata.namespace, name), [])
        version = int(pod.metadata.resource_version)
        position = bisect.bisect_right(known, version, key=lambda item: item.rv)
        return known[position - 1] if position and not known[position - 1].is_gone else None


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    resource = ExtendedResource(evidence.plan.settings)
    seen, claims = evidence[ExtendedPods], _Claims(evidence[claim_versions.ClaimVersions])
    asking = [pod for pod in seen.running.values() if resource.devices_for(pod)]
    lacking = {
        pod.metadata.uid: _finding(pod, f"runs without its extended resource: {why}")
        for pod in asking
        if (why := _lack(pod, resource, claims))
    }
    misnamed = [
        _finding(pod, why)
        for pod in seen.renamed
        if pod.metadata.uid not in lacking and (why := _misnamed(pod, claims))
    ]
    wrong, unless = [*lacking.values(), *misnamed], ""
    if not asking:
        unless = "no pod with an extended resource was seen Running, so nothing was examined"
    if wrong and seen.has_gap:
        unless = f"the observations have a gap; otherwise {wrong[0].summary}"
    return findings.judged(
        CHECK,
        [] if seen.has_gap else wrong,
        examined=len(asking),
        good=f"{len(asking)} pods ran with a claim of their own for their extended resource",
        unless=unless,
    )


CHECK = protocol.Check(
    name="extended_claims",
    guarantee="G",
    promise="every pod that runs has the devices of its extended resource by a claim of its own",
    applies=plan_facts.asks_for_extended_resources,
    needs=(ExtendedPods, claim_versions.ClaimVersions),
    judge=judge,
)


def _misnamed(pod: observed_pods.Pod, claims: _Claims) -> str:
    named = pod.status.extended_resource_claim_status
    name = named.resource_claim_name if named else ""
    claim = claims.named_by(pod, name)
    if claim is None:
        return f"names the claim {name} in its status, which is gone"
    is_own = claim.claim.owner == pod.metadata.uid
    return "" if is_own else f"names the claim {name} in its status, which is not its own"


def _lack(pod: observed_pods.Pod, resource: ExtendedResource, claims: _Claims) -> str:
    """Return what the pod lacked when it began to run; empty if it had everything."""
    named = pod.status.extended_resource_claim_status
    if named is None:
        return "its status names no claim"
    told = f"the claim {named.resource_claim_name}"
    claim = claims.named_by(pod, named.resource_claim_name)
    if claim is None:
        return f"{told} is not there"
    if claim.claim.owner != pod.metadata.uid:
        return f"{told} is not its own"
    if pod.metadata.uid not in claim.users:
        return f"{told} is not reserved for it"
    if len(claim.results) != (needed := resource.devices_for(pod)):
        return f"{told} has {len(claim.results)} devices, and it needs {needed}"
    return _unmapped(pod, resource, named, claim)


def _unmapped(
    pod: observed_pods.Pod,
    resource: ExtendedResource,
    named: observed_pods.ExtendedClaim,
    claim: claim_versions.Version,
) -> str:
    """Return what is wrong with the requests that containers are mapped to; empty: nothing.

    A container that runs until the end has exactly the devices that it asks for, and shares them
    with none that does. An init container may use those of the containers after it.
    """
    counts = collections.Counter(result.request for result in claim.results)
    mapped = collections.defaultdict[str, set[str]](set)
    for item in named.request_mappings or ():
        mapped[item.container_name].add(item.request_name)
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
    return f"its status maps {min(mapped)}, which is no container of it" if mapped else ""


def _containers(pod: observed_pods.Pod) -> Iterator[tuple[observed_pods.Container, bool]]:
    for container in pod.spec.init_containers or ():
        yield container, container.restart_policy == "Always"
    for container in pod.spec.containers or ():
        yield container, True


def _finding(pod: observed_pods.Pod, told: str) -> findings.Finding:
    meta = pod.metadata
    return findings.Finding(
        summary=f"pod {meta.name} {told}",
        text=f"Pod {meta} {told}",
        versions=(int(meta.resource_version),),
        objects=[pod.involved],
    )
