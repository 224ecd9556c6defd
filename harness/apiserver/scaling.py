"""The scale of a workload: how many replicas it wants and has, as an object of its own."""

import functools
from collections.abc import Callable
from typing import Any

from harness.apiserver import bodies, media, options, patches, printing, requesting, statuses
from harness.apiserver import store as stores

Document = dict[str, Any]
_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(workload: Document) -> Document:
    """The scale of a deployment, replica set, stateful set or replication controller."""
    meta = workload["metadata"]
    replicas = printing.value(workload, "spec.replicas") or 0
    status: Document = {"replicas": printing.value(workload, "status.replicas") or 0}
    if printing.value(workload, "spec.selector"):
        status["selector"] = printing.selector(workload)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in _META if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def answer(store: stores.Store, request: requesting.Request, target: requesting.Target) -> Document:
    """The scale of the target, after the change that is asked for."""
    place = (target.resource, target.namespace, target.name)
    if request.method == "GET":
        return scale_of(store.get(*place).document())
    validation = options.validation(request)
    changed, _ = bodies.decode_patch(request.body, validation)
    changing = _PATCHES.get(media.content_type(request)) if request.method == "PATCH" else _replace
    if changing is None:
        raise statuses.unsupported_patch_type()
    rescale = rescaling(functools.partial(changing, changed))
    return scale_of(store.patch(*place, rescale, dry_run=request.dry_run).document())


def _replace(scale: Any, _: Document) -> Any:
    return scale


def _merge(patch: Any, scale: Document) -> Any:
    return patches.merge_patch(scale, patch)


def _edit(patch: Any, scale: Document) -> Any:
    return patches.json_patch(scale, patch)


_PATCHES: dict[str, Callable[[Any, Document], Any]] = {
    "application/merge-patch+json": _merge,
    "application/strategic-merge-patch+json": _merge,  # a scale has no lists
    "application/json-patch+json": _edit,
}


def rescaling(change: Callable[[Document], Any]) -> Callable[[Document], Document]:
    """The change of a workload that a change of its scale makes; 400 and 422 for what is no scale."""

    def rescale(workload: Document) -> Document:
        scale = change(scale_of(workload))
        if not isinstance(scale, dict):
            raise statuses.bad_request("the body of the request was not a Scale")
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise statuses.bad_request("spec.replicas: expected an integer")
        if replicas < 0:
            raise _negative(workload, replicas)
        workload.setdefault("spec", {})["replicas"] = replicas
        version = (scale.get("metadata") or {}).get("resourceVersion")
        if version:
            workload["metadata"]["resourceVersion"] = version
        return workload

    return rescale


def _negative(workload: Document, replicas: int) -> statuses.StatusError:
    why = "must be greater than or equal to 0"
    cause = statuses.invalid_value("spec.replicas", str(replicas), why)
    name = workload["metadata"]["name"]
    details = {
        "name": name,
        "group": "autoscaling",
        "kind": "Scale",
        "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}],
    }
    message = f'Scale.autoscaling "{name}" is invalid: {cause.text()}'
    return statuses.StatusError(422, "Invalid", message, details)
