"""Pods are assigned to nodes by a binding, once."""

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.registry.strategies import pods
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

_SCHEDULED = {"type": "PodScheduled", "status": "True"}


def target(wanted: Document) -> str:
    """The name of the node in a binding; errors when it does not say what it binds to what."""
    if not (wanted.get("metadata") or {}).get("name"):
        raise status_errors.bad_request("name in URL does not match name in Binding object")
    found = wanted.get("target") or {}
    if (kind := found.get("kind") or "Node") != "Node":
        cause = field_errors.unsupported("target.kind", kind, ("Node", "<empty>"))
        raise status_errors.StatusError(500, "", cause.text())
    node: str = found.get("name") or ""
    if not node:
        raise status_errors.StatusError(500, "", "target.name: Required value")
    return node


def bind(pod: Document, node: str, wanted: Document, *, now: str) -> Document:
    """The pod as the binding leaves it; 409 when it cannot be bound."""
    meta = pod["metadata"]
    if why := _unbindable(pod):
        name = meta["name"]
        raise status_errors.conflict(
            resources.PODS, name, f"pod {name} {why}", subresource="binding"
        )
    pod["spec"]["nodeName"] = node
    for key in ("labels", "annotations"):
        if added := (wanted.get("metadata") or {}).get(key):
            meta[key] = {**(meta.get(key) or {}), **added}
    pods.set_condition(pod, _SCHEDULED, now=now)
    return pod


def _unbindable(pod: Document) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f'is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return "has non-empty .spec.schedulingGates"
    return ""
