"""Frozen: no new code. Ephemeral containers and resizing of pods, and RuntimeClass admission.

After k8s.io/kubernetes/pkg/registry/core/pod/strategy.go and plugin/pkg/admission/runtimeclass.
"""

from collections.abc import Callable, Mapping

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

_RESIZED = ("resources", "resizePolicy")
"""Fields of a container that the `resize` subresource writes."""


def require_runtime_class(pod: Document, *, find_class: Callable[[str], Document | None]) -> None:
    """Copy overhead and node selector from the pod's runtime class, in place.

    Raises StatusError 403 if the class does not exist.
    """
    spec = pod["spec"]
    if not (name := spec.get("runtimeClassName")):
        return
    runtime_class = find_class(name)
    if runtime_class is None:
        why = f'pod rejected: RuntimeClass "{name}" not found'
        raise status_errors.denied(resources.PODS, pod["metadata"]["name"], why)
    if overhead := (runtime_class.get("overhead") or {}).get("podFixed"):
        spec["overhead"] = overhead
    if selector := (runtime_class.get("scheduling") or {}).get("nodeSelector"):
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}


def _with_ephemeral_containers(spec: Document, before: Document) -> Document:
    """Return the old spec with the ephemeral containers of the new one."""
    merged = {key: value for key, value in before.items() if key != "ephemeralContainers"}
    if added := spec.get("ephemeralContainers"):
        merged["ephemeralContainers"] = added
    return merged


def _with_resources(spec: Document, before: Document) -> Document:
    """Return the old spec with the resources of the pod and of each container of the new one."""
    merged = dict(before)
    for key in ("containers", "initContainers"):
        if key in before:
            sent = {item.get("name"): item for item in spec.get(key) or ()}
            merged[key] = [_resized(item, sent.get(item.get("name"))) for item in before[key]]
    merged.pop("resources", None)
    return merged | {"resources": spec["resources"]} if spec.get("resources") else merged


def _resized(container: Document, sent: Document | None) -> Document:
    if sent is None:
        return container
    merged = {key: value for key, value in container.items() if key not in _RESIZED}
    return merged | {key: sent[key] for key in _RESIZED if key in sent}


SPEC_PARTS: Mapping[str, Callable[[Document, Document], Document]] = {
    "ephemeralcontainers": _with_ephemeral_containers,
    "resize": _with_resources,
}
"""The subresources that write a part of the spec."""
