"""The quality of service class of a pod, from what its containers request of cpu and memory."""

from harness.apiserver.scheme import quantities
from harness.apiserver.scheme.json_document import Document

_COMPUTE = ("cpu", "memory")


def of(spec: Document) -> str:
    """Guaranteed when every container's limits are set and requested in full, BestEffort when none requests anything, else Burstable."""
    parts = _parts(spec)
    if not any(part.get("resources") for part in parts):
        return "BestEffort"
    wishes = [_wishes(part) for part in parts]
    if not any(requests or limits for requests, limits in wishes):
        return "BestEffort"
    if all(len(limits) == len(_COMPUTE) and requests == limits for requests, limits in wishes):
        return "Guaranteed"
    return "Burstable"


def _parts(spec: Document) -> list[Document]:
    """Whose resources count: the pod's own when it has any, else those of all its containers."""
    if any((spec.get("resources") or {}).get(key) for key in ("requests", "limits")):
        return [spec]
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _wishes(part: Document) -> tuple[Document, Document]:
    resources = part.get("resources") or {}
    return _compute(resources.get("requests")), _compute(resources.get("limits"))


def _compute(amounts: Document | None) -> Document:
    if not amounts:
        return {}
    parsed = {name: quantities.parse(amounts[name]).amount for name in _COMPUTE if name in amounts}
    return {name: amount for name, amount in parsed.items() if amount}
