"""Extended resources that device plugins offer on nodes, and how much of them pods use.

After NodeResourcesFit in pkg/scheduler/framework/plugins/noderesources/fit.go, for extended
resources only. A node that offers a resource by a device plugin gives none of it by claims.
"""

import collections
from collections.abc import Callable, Mapping

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.extended_resources import class_resolver
from harness.subject.objects import claims, quantities


def is_extended(name: str) -> bool:
    """Return whether a resource may be backed by devices: `example.com/gpu`, or an implicit one."""
    if name.startswith(class_resolver.IMPLICIT_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def of_container(container: Object) -> dict[str, int]:
    """Return what one container asks for, without zeros."""
    requests = (container.get("resources") or {}).get("requests") or {}
    amounts = {
        name: int(quantities.parse(str(value)).amount)
        for name, value in requests.items()
        if is_extended(name)
    }
    return {name: amount for name, amount in amounts.items() if amount}


def of_pod(pod: Object) -> dict[str, int]:
    """Return what a pod needs at the most at any time, without zeros."""
    spec = pod["spec"]
    if not any(map(of_container, [*spec["containers"], *(spec.get("initContainers") or ())])):
        return {}  # as nearly every pod
    running: collections.Counter[str] = collections.Counter()
    sidecars, highest = running.copy(), running.copy()
    for container in spec["containers"]:
        running += collections.Counter(of_container(container))
    for container in spec.get("initContainers") or ():
        amounts = collections.Counter(of_container(container))
        highest |= sidecars + amounts
        if is_sidecar(container):
            sidecars += amounts
    return dict(highest | (running + sidecars))


def is_sidecar(init_container: Object) -> bool:
    return bool(init_container.get("restartPolicy") == "Always")


INSUFFICIENT = "Insufficient"
"""First word of the reason for which a node is ruled out, before the resource; upstream's word."""


class PluginDevices(informers.StateHandler):
    """The pods with extended resources by node; an event handler of the informer of pods."""

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        """`on_freed()` is called when a pod on a node uses extended resources no longer."""
        self._guard = concurrency.lock("plugin-devices")
        self._on_freed = on_freed
        self._pods: dict[str, tuple[str, Mapping[str, int]]] = {}
        """Node and amounts by UID of the pod."""

    def refusal(
        self, amounts: Mapping[str, int], backed: Mapping[str, str], node: Object
    ) -> str | None:
        """Return why the node has too little for a pod that needs these amounts; None if not.

        Resources in `backed` are left to claims on a node whose device plugin has none.
        """
        for resource in sorted(amounts):
            offered = allocatable(node, resource)
            if resource in backed and not offered:
                continue
            if amounts[resource] > offered - self._used(node["metadata"]["name"], resource):
                return f"{INSUFFICIENT} {resource}"
        return None

    def assume(self, pod: Object, amounts: Mapping[str, int], node_name: str) -> None:
        """Count a pod that is about to be bound, before the informer delivers it as bound."""
        if amounts:
            with self._guard:
                self._pods[claims.uid_of(pod)] = node_name, amounts

    def forget(self, pod: Object) -> None:
        """Count a pod no longer."""
        with self._guard:
            known = self._pods.pop(claims.uid_of(pod), None)
        if known is not None:
            self._on_freed()

    def on_state(self, obj: Object) -> None:
        node_name = obj["spec"].get("nodeName")
        if node_name and claims.is_done(obj):
            self.forget(obj)
        elif node_name:
            self.assume(obj, _from_plugins(obj), node_name)

    def on_delete(self, last: Object) -> None:
        self.forget(last)

    def _used(self, node_name: str, resource: str) -> int:
        with self._guard:
            on_node = [amounts for name, amounts in self._pods.values() if name == node_name]
        return sum(amounts.get(resource, 0) for amounts in on_node)


def _from_plugins(pod: Object) -> dict[str, int]:
    """Return what a bound pod uses, without the resources that its claim gives."""
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    claimed = {mapping["resourceName"] for mapping in status.get("requestMappings") or ()}
    amounts = of_pod(pod)
    return {name: amount for name, amount in amounts.items() if name not in claimed}


def allocatable(node: Object, resource: str) -> int:
    """Return how much of an extended resource the node's device plugins offer."""
    offered = (node.get("status") or {}).get("allocatable") or {}
    return int(quantities.parse(str(offered.get(resource, "0"))).amount)
