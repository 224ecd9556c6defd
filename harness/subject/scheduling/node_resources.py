"""CPU, memory and places for pods: what a pod needs, whether a node has it, and how well it suits.

After NodeResourcesFit and NodeResourcesBalancedAllocation in
pkg/scheduler/framework/plugins/noderesources (fit.go, least_allocated.go, balanced_allocation.go),
with their default arguments. Extended resources do not belong here (`plugin_devices`), and
ephemeral storage is not looked at.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.model.objects import Object
from harness.subject.extended_resources import plugin_devices
from harness.subject.objects import nodes, quantities

SCORE_MAX = 100
"""The highest score of a plugin for a node (MaxNodeScore)."""
_CPU_M_DEFAULT, _MEMORY_DEFAULT = 100, 200 * 2**20
"""The millicores and bytes that a container without requests counts for, so that pods without
requests spread as well."""


class PodRequest(NamedTuple):
    """The request of a pod, CPU in thousandths and memory in bytes."""

    cpu_m: int = 0
    memory: int = 0
    weighed_cpu_m: int = 0
    """Requests, with the default for each container that has none."""
    weighed_memory: int = 0


class NodeUse(NamedTuple):
    """The amounts that a node offers to pods, and those that the pods on it request."""

    cpu_m: int
    memory: int
    places: int
    """Number of pods that the node can run."""
    pods: int = 0
    used_cpu_m: int = 0
    used_memory: int = 0
    weighed_cpu_m: int = 0
    weighed_memory: int = 0

    def changed_by(self, request: PodRequest, count: int) -> "NodeUse":
        """Return the use after one more pod (`count` 1), or one less (-1)."""
        return self._replace(
            pods=self.pods + count,
            used_cpu_m=self.used_cpu_m + count * request.cpu_m,
            used_memory=self.used_memory + count * request.memory,
            weighed_cpu_m=self.weighed_cpu_m + count * request.weighed_cpu_m,
            weighed_memory=self.weighed_memory + count * request.weighed_memory,
        )


def of_pod(pod: Object) -> PodRequest:
    """Return what the pod requests at the most at any time."""
    plain = plugin_devices.most(pod["spec"], _of_container)
    weighed = plugin_devices.most(pod["spec"], _weighed)
    overhead = _parsed(pod["spec"].get("overhead") or {})
    cpu_m, memory = overhead.get("cpu", 0), overhead.get("memory", 0)
    return PodRequest(
        plain.get("cpu", 0) + cpu_m,
        plain.get("memory", 0) + memory,
        weighed.get("cpu", 0) + cpu_m,
        weighed.get("memory", 0) + memory,
    )


def of_node(node: Object) -> NodeUse:
    """Return what the node offers, without pods; a node that does not say it offers nothing."""
    offered = (node.get("status") or {}).get("allocatable") or {}
    amounts = _parsed(offered)
    return NodeUse(amounts.get("cpu", 0), amounts.get("memory", 0), _integer(offered, "pods"))


def refusal(use: NodeUse, request: PodRequest) -> str | None:
    """Return why the node has too little for the pod; None if it has enough."""
    if use.pods + 1 > use.places:
        return nodes.TOO_MANY_PODS
    if 0 < request.cpu_m > use.cpu_m - use.used_cpu_m:
        return nodes.TOO_LITTLE_CPU
    if 0 < request.memory > use.memory - use.used_memory:
        return nodes.TOO_LITTLE_MEMORY
    return None


@functools.lru_cache(65_536)
def score(use: NodeUse, request: PodRequest) -> int:
    """Return the sum of both plugins' scores, which have the same weight."""
    least = _least_allocated(use, request)
    if not (request.cpu_m or request.memory):
        return least  # a best-effort pod balances nothing (kubernetes#129138)
    return least + _balanced(use, request)


def _least_allocated(use: NodeUse, request: PodRequest) -> int:
    """Return the mean of the parts that remain free of what the node offers."""
    amounts = [
        (use.weighed_cpu_m + request.weighed_cpu_m, use.cpu_m),
        (use.weighed_memory + request.weighed_memory, use.memory),
    ]
    scores = [max(offered - used, 0) * SCORE_MAX // offered for used, offered in amounts if offered]
    return sum(scores) // len(scores) if scores else 0


def _balanced(use: NodeUse, request: PodRequest) -> int:
    """Return how close the parts in use of CPU and memory are to each other."""
    if not (use.cpu_m and use.memory):
        return SCORE_MAX
    cpu = min((use.used_cpu_m + request.cpu_m) / use.cpu_m, 1.0)
    memory = min((use.used_memory + request.memory) / use.memory, 1.0)
    return int((1 - abs(cpu - memory) / 2) * SCORE_MAX)


def _of_container(container: Object) -> dict[str, int]:
    return _parsed((container.get("resources") or {}).get("requests") or {})


def _weighed(container: Object) -> dict[str, int]:
    return {"cpu": _CPU_M_DEFAULT, "memory": _MEMORY_DEFAULT} | _of_container(container)


def _parsed(amounts: Mapping[str, Any]) -> dict[str, int]:
    """Return CPU in thousandths and memory in bytes, those that are there."""
    found = {}
    if "cpu" in amounts:
        found["cpu"] = -int(-quantities.parse(str(amounts["cpu"])).amount * 1000 // 1)
    if "memory" in amounts:
        found["memory"] = quantities.parse(str(amounts["memory"])).integer()
    return found


def _integer(amounts: Mapping[str, Any], name: str) -> int:
    return quantities.parse(str(amounts.get(name, "0"))).integer()
