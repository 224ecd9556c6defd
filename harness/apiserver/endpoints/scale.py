"""The scale of a workload: how many replicas it wants and has, as an object of its own."""

from collections.abc import Callable
from typing import Any

from harness.apiserver import (
    bodies,
    media,
    options,
    patches,
    printing,
    requesting,
    resources,
    statuses,
)
from harness.apiserver import store as stores

Document = dict[str, Any]
Change = Callable[[Document], Document]
_SCALES = resources.carried_by(resources.DEPLOYMENTS, "scale")
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
    change = _patching(request) if request.method == "PATCH" else _replacing(request)
    return scale_of(store.patch(*place, _rescaling(change), dry_run=request.dry_run).document())


def _replacing(request: requesting.Request) -> Change:
    scale = bodies.read(media.json_body(request), _SCALES, options.validation(request))
    return lambda _: scale


def _patching(request: requesting.Request) -> Change:
    apply = _PATCHES.get(media.content_type(request))
    if apply is None:
        raise statuses.unsupported_patch_type()
    validation = options.validation(request)
    patch, problems = bodies.decode_patch(request.body, validation, is_text=True)
    return lambda scale: bodies.patched(apply(scale, patch), _SCALES, validation, problems)


_PATCHES: dict[str, Callable[[Document, Any], Document]] = {
    "application/merge-patch+json": patches.merge_patch,
    "application/strategic-merge-patch+json": patches.merge_patch,  # a scale has no lists
    "application/json-patch+json": patches.json_patch,
}


def _rescaling(change: Change) -> Change:
    """The change of a workload that a change of its scale makes."""

    def rescale(workload: Document) -> Document:
        scale = change(scale_of(workload))
        replicas = printing.value(scale, "spec.replicas") or 0
        if replicas < 0:
            raise _negative(workload["metadata"]["name"], replicas)
        workload.setdefault("spec", {})["replicas"] = replicas
        if version := printing.value(scale, "metadata.resourceVersion"):
            workload["metadata"]["resourceVersion"] = version
        return workload

    return rescale


def _negative(name: str, replicas: int) -> statuses.StatusError:
    why = "must be greater than or equal to 0"
    cause = statuses.invalid_value("spec.replicas", str(replicas), why)
    return statuses.invalid(_SCALES, name, [cause])
