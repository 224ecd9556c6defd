"""Pods: their status, grace periods, conditions, quality of service, and binding to a node.

After k8s.io/kubernetes/pkg/registry/core/pod/strategy.go.
"""

from typing import Any

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import feature_gates, quantities, resources

DEFAULT_GRACE_S = 30
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class PodStrategy(generic.Strategy):
    """Pods."""

    metadata_kept_by_status = ("ownerReferences",)
    reset_by_status = ("metadata.deletionTimestamp", "metadata.ownerReferences")

    def prepare_for_create(self, document: Document, *, now: str) -> None:
        """Begin in phase Pending; a pod with scheduling gates has a condition that says so."""
        super().prepare_for_create(document, now=now)
        if document["spec"].get("schedulingGates"):
            set_condition(document, _GATED, now=now)

    def new_status(self, document: Document) -> Document:
        """Return phase and quality-of-service class."""
        return {"phase": "Pending", "qosClass": of(document["spec"])}

    def keep_unwritable(self, document: Document, old: Document, subresource: str) -> None:
        """Keep the quality-of-service class if a new status omits it."""
        super().keep_unwritable(document, old, subresource)
        status, known = document.get("status") or {}, (old.get("status") or {}).get("qosClass")
        if subresource == "status" and known and not status.get("qosClass"):
            document["status"] = status | {"qosClass": known}  # older clients do not know it

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of the gates GenericWorkload and DRANodeAllocatableResources."""
        if not feature_gates.is_on(feature_gates.POD_GROUPS):
            generic.drop_new(document, old, "spec", "schedulingGroup")
        generic.drop_new(document, old, "status", "nodeAllocatableResourceClaimStatuses")


def grace_seconds(pod: Document, requested_s: int | None) -> int:
    """Return the grace period of a deletion, in seconds; 0 for a pod that does not run."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if requested_s is not None:
        return requested_s
    default_s = spec.get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE_S if default_s is None else int(default_s)


# ------------------------------------------------------------------ conditions


def set_condition(pod: Document, condition: Document, *, now: str) -> None:
    """Add a condition, or replace the one of its type, in place.

    `lastTransitionTime` changes only if the condition's status does.
    """
    conditions: list[Document] = pod.setdefault("status", {}).setdefault("conditions", [])
    for position, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            since = known.get("lastTransitionTime")
            is_same_status = known.get("status") == condition["status"]
            conditions[position] = _dated(condition, since if is_same_status else now)
            return
    conditions.append(_dated(condition, now))


def _dated(condition: Document, since: Any) -> Document:
    return {**condition, "lastProbeTime": None, "lastTransitionTime": since}


_SCHEDULED = {"type": "PodScheduled", "status": "True"}


def target(binding: Document) -> str:
    """Return the name of the node in a binding.

    Raises StatusError 400 if the binding has no name, 500 if its target is not a node.
    """
    if not (binding.get("metadata") or {}).get("name"):
        raise status_errors.bad_request("name in URL does not match name in Binding object")
    node = binding.get("target") or {}
    if (kind := node.get("kind") or "Node") != "Node":
        cause = field_errors.unsupported("target.kind", kind, ("Node", "<empty>"))
        raise status_errors.StatusError(500, "", cause.text())
    name: str = node.get("name") or ""
    if not name:
        raise status_errors.StatusError(500, "", "target.name: Required value")
    return name


def bind(pod: Document, node: str, binding: Document, *, now: str) -> Document:
    """Bind the pod in place and return it; it has no nominated node any more.

    Raises StatusError 409 if it cannot be bound.
    """
    meta = pod["metadata"]
    if why := _unbindable(pod):
        why = f"pod {meta['name']} {why}"
        raise status_errors.conflict(resources.PODS, meta["name"], why, kind="pods/binding")
    pod["spec"]["nodeName"] = node
    for key in ("labels", "annotations"):
        if added := (binding.get("metadata") or {}).get(key):
            meta[key] = {**(meta.get(key) or {}), **added}
    set_condition(pod, _SCHEDULED, now=now)
    pod["status"].pop("nominatedNodeName", None)
    return pod


def _unbindable(pod: Document) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f'is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return "has non-empty .spec.schedulingGates"
    return ""


_COMPUTE = ("cpu", "memory")


def of(spec: Document) -> str:
    """Return the QoS class of a pod's spec.

    `Guaranteed` if each container has limits for CPU and memory and requests equal to them,
    `BestEffort` if no container has requests or limits, `Burstable` otherwise.
    """
    resources = [part.get("resources") or {} for part in _parts(spec)]
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
