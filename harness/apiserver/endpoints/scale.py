"""Frozen: no new code. The `scale` subresource of workloads, a `Scale` of autoscaling/v1."""

from collections.abc import Callable
from typing import Any

from harness.apiserver.endpoints import content_types, request_info, request_options
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.patch import patches
from harness.apiserver.printers import cells
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import request_objects

Change = Callable[[Document], Document]
_SCALES = resources.carried_by(resources.DEPLOYMENTS, "scale")
_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(workload: Document) -> Document:
    """Return the Scale of a deployment, replica set, stateful set or replication controller."""
    meta = workload["metadata"]
    replicas = cells.value(workload, "spec.replicas") or 0
    status: Document = {"replicas": cells.value(workload, "status.replicas") or 0}
    if cells.value(workload, "spec.selector"):
        status["selector"] = cells.selector(workload)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in _META if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def answer(
    store: stores.Store, request: request_info.Request, target: request_info.Target
) -> Document:
    """Read, replace or patch the scale of the target, and return the resulting Scale."""
    place = (target.resource, target.namespace, target.name)
    if request.method == "GET":
        return scale_of(store.get(*place).document())
    change = _patching(request) if request.method == "PATCH" else _replacing(request)
    return scale_of(store.patch(*place, _rescaling(change), dry_run=request.dry_run).document())


def _replacing(request: request_info.Request) -> Change:
    scale = request_objects.read(
        content_types.json_body(request), _SCALES, request_options.validation(request)
    )
    return lambda _: scale


def _patching(request: request_info.Request) -> Change:
    apply = _PATCHES.get(content_types.content_type(request))
    if apply is None:
        raise status_errors.unsupported_patch_type()
    validation = request_options.validation(request)
    patch, problems = request_objects.decode_patch(request.body, validation, is_text=True)
    return lambda scale: request_objects.patched(apply(scale, patch), _SCALES, validation, problems)


_PATCHES: dict[str, Callable[[Document, Any], Document]] = {
    "application/merge-patch+json": patches.merge_patch,
    "application/strategic-merge-patch+json": patches.merge_patch,  # a scale has no lists
    "application/json-patch+json": patches.json_patch,
}


def _rescaling(change: Change) -> Change:
    """Return the change of a workload that corresponds to a change of its Scale."""

    def rescale(workload: Document) -> Document:
        scale = change(scale_of(workload))
        replicas = cells.value(scale, "spec.replicas") or 0
        if replicas < 0:
            raise _negative(workload["metadata"]["name"], replicas)
        workload.setdefault("spec", {})["replicas"] = replicas
        if version := cells.value(scale, "metadata.resourceVersion"):
            workload["metadata"]["resourceVersion"] = version
        return workload

    return rescale


def _negative(name: str, replicas: int) -> status_errors.StatusError:
    why = "must be greater than or equal to 0"
    cause = field_errors.invalid_value("spec.replicas", str(replicas), why)
    return status_errors.invalid(_SCALES, name, [cause])
