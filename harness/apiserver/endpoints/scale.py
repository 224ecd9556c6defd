"""Frozen: no new code. The `scale` subresource of workloads, a `Scale` of autoscaling/v1."""

from harness.apiserver.endpoints import resource_requests
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.printers import cells
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

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


def scaled(
    store: stores.Store,
    request: resource_requests.Get | resource_requests.Update | resource_requests.Patch,
) -> Document:
    """Read, replace or patch the scale of the target, and return the resulting Scale."""
    place = (request.target.resource, request.target.namespace, request.target.name)
    if isinstance(request, resource_requests.Get):
        return scale_of(store.get(*place).document())
    change = _rescaling(_change(request))
    return scale_of(store.patch(*place, change, dry_run=request.options.dry_run).document())


def _change(
    request: resource_requests.Update | resource_requests.Patch,
) -> resource_requests.Change:
    if isinstance(request, resource_requests.Patch):
        return request.change
    return lambda _: request.document


def _rescaling(change: resource_requests.Change) -> resource_requests.Change:
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
