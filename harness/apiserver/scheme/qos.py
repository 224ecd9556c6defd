"""The quality of service class of a pod, from the CPU and memory that its containers request.

After k8s.io/kubernetes/pkg/apis/core/helper/qos.
"""

from harness.apiserver.scheme import quantities
from harness.apiserver.scheme.json_document import Document

_COMPUTE = ("cpu", "memory")


def of(spec: Document) -> str:
    """Return the QoS class of a pod's spec.

    `Guaranteed` if each container has limits for CPU and memory and requests equal to them,
    `BestEffort` if no container has requests or limits, `Burstable` otherwise.
    """
    resources = [part.get("resources") or {} for part in _parts(spec)]
    if not any(resources):
        return "BestEffort"
    pairs = [(_compute(item.get("requests")), _compute(item.get("limits"))) for item in resources]
    if not any(requests or limits for requests, limits in pairs):
        return "BestEffort"
    if all(len(limits) == len(_COMPUTE) and requests == limits for requests, limits in pairs):
        return "Guaranteed"
    return "Burstable"


def _parts(spec: Document) -> list[Document]:
    """Return the pod's spec if it has resources at pod level, else all containers."""
    if any((spec.get("resources") or {}).get(key) for key in ("requests", "limits")):
        return [spec]
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _compute(amounts: Document | None) -> Document:
    if not amounts:
        return {}
    parsed = {name: quantities.parse(amounts[name]).amount for name in _COMPUTE if name in amounts}
    return {name: amount for name, amount in parsed.items() if amount}
