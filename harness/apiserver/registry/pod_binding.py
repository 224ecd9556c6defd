"""Binding of pods to nodes. After k8s.io/kubernetes/pkg/registry/core/pod/storage/storage.go."""

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.registry.strategies import pods
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

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
        name = meta["name"]
        raise status_errors.conflict(
            resources.PODS, name, f"pod {name} {why}", subresource="binding"
        )
    pod["spec"]["nodeName"] = node
    for key in ("labels", "annotations"):
        if added := (binding.get("metadata") or {}).get(key):
            meta[key] = {**(meta.get(key) or {}), **added}
    pods.set_condition(pod, _SCHEDULED, now=now)
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
