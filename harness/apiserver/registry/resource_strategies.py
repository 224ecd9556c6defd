"""What each kind does to an object on its way into the store: defaults, and which fields which endpoint may write."""

from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver.registry import disabled_fields, pod_conditions, pod_parts
from harness.apiserver.scheme import api_types, defaulting, qos, resources
from harness.apiserver.scheme.json_document import Document

_SERVER_SET = (
    "uid",
    "creationTimestamp",
    "generation",
)
_USER_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
_METADATA_APART = frozenset(
    {"admissionregistration.k8s.io", "apiextensions.k8s.io", "resource.k8s.io"}
)
"""Groups in which a write of the status cannot change the metadata."""
_STATUS_KEEPS = {"pods": ("ownerReferences",), "deployments": ("labels",)}
"""Metadata of other resources that a write of the status cannot change."""
_WIPED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Metadata that nobody may bring along to a new object."""
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
DEFAULT_GRACE_S = 30


def wipe(meta: Document) -> None:
    """Clear the metadata that nobody may bring along to a new object, in place."""
    for key in _WIPED:
        meta.pop(key, None)


def prepare_create(resource: resources.ResourceType, document: Document, *, now: str) -> None:
    """Clear what only the server may set, and begin the status, in place."""
    meta = document["metadata"]
    meta.pop("resourceVersion", None)
    if resource.has_status and resource is not resources.NODES:
        document.pop("status", None)
    if resource is resources.NAMESPACES:
        _finalize(document)
        meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta.get("name", "")
    disabled_fields.drop_disabled(resource, document)
    if resource.tracks_generation:
        meta["generation"] = 1
    _begin_status(resource, document, now)


def _finalize(namespace: Document) -> None:
    """Have the server empty a namespace before it goes, whoever else wants to do so."""
    found = (namespace.get("spec") or {}).get("finalizers") or []
    kept = found if "kubernetes" in found else [*found, "kubernetes"]
    namespace["spec"] = {"finalizers": kept}


def _begin_status(resource: resources.ResourceType, document: Document, now: str) -> None:
    if resource is resources.PODS:
        spec = document["spec"]
        document["status"] = {"phase": "Pending", "qosClass": qos.of(spec)}
        if spec.get("schedulingGates"):
            pod_conditions.update(document, _GATED, now=now)
    elif resource is resources.NAMESPACES:
        document["status"] = {"phase": "Active"}
    elif resource is resources.DEFINITIONS:
        versions = (document.get("spec") or {}).get("versions") or ()
        stored = [version.get("name") for version in versions if version.get("storage")]
        document["status"] = {**(_empty_status(resource) or {}), "storedVersions": stored[:1]}
    elif "status" not in document and (empty := _empty_status(resource)) is not None:
        document["status"] = empty


def _empty_status(resource: resources.ResourceType) -> Document | None:
    field = api_types.of(resource).fields.get("status")
    if field is None or not field.always:
        return None
    status: Document = field.zero()
    return status


def prepare_update(
    resource: resources.ResourceType,
    document: Document,
    old: Document,
    *,
    subresource: str,
) -> None:
    """Take over from the old object what this endpoint may not write, in place."""
    meta, before = document["metadata"], old["metadata"]
    for key in _SERVER_SET:
        _take(meta, before, key)
    _keep_end(meta, before)
    if subresource == "status":
        _keep_all_but_status(resource, document, old)
        if resource is resources.CLAIMS:
            disabled_fields.drop_stale_reports(document, old)
        elif resource is resources.PODS:
            _keep_class(document, old)
    elif subresource in pod_parts.SPECS:
        document["spec"] = pod_parts.SPECS[subresource](document["spec"], old["spec"])
        _take(document, old, "status")
        for key in _USER_METADATA:
            _take(meta, before, key)
    elif resource.has_status:
        _take(document, old, "status")
        if resource is resources.NAMESPACES and subresource != "finalize":
            _take(document, old, "spec")
    disabled_fields.drop_disabled(resource, document, old)
    if resource.tracks_generation and document.get("spec") != old.get("spec"):
        meta["generation"] = before.get("generation", 1) + 1


def _keep_end(meta: Document, before: Document) -> None:
    """Once an object is to be deleted it stays so; who writes that it is without deleting it is told otherwise by the rules."""
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    grace_s = before.get("deletionGracePeriodSeconds")
    if grace_s is not None and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = grace_s


def default(
    resource: resources.ResourceType, document: Document, *, now: Callable[[], str]
) -> None:
    """The kind's default values, in place."""
    defaulting.fill(api_types.of(resource), document)
    if resource is resources.SLICES:
        disabled_fields.drop_empty_devices(document)
        for device in (document.get("spec") or {}).get("devices") or ():
            _date_taints(device.get("taints") or (), now)
    elif resource is resources.TAINT_RULES:
        _date_taints([document["spec"]["taint"]], now)


def _date_taints(taints: Iterable[Document], now: Callable[[], str]) -> None:
    for taint in taints:
        if taint.get("timeAdded") is None:
            taint["timeAdded"] = now()


def grace_seconds(document: Document, wanted: int | None) -> int:
    """How long a pod that is to end may take; 0 for one that nobody runs."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if wanted is not None:
        return wanted
    default_s = spec.get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE_S if default_s is None else int(default_s)


def set_or_drop(target: Document, key: str, value: Any) -> None:
    """Set a field, or drop it when its value is empty, as Go does with `omitempty`; in place."""
    if value:
        target[key] = value
    else:
        target.pop(key, None)


def _take(target: Document, source: Document, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


def _keep_all_but_status(
    resource: resources.ResourceType, document: Document, old: Document
) -> None:
    for key in {**old, **document}:
        if key not in ("status", "metadata"):
            _take(document, old, key)
    for key in _kept_by_status(resource):
        _take(document["metadata"], old["metadata"], key)


def _keep_class(pod: Document, old: Document) -> None:
    """The class of a pod is kept by those who do not know of it."""
    status = pod.get("status") or {}
    known = (old.get("status") or {}).get("qosClass")
    if known and not status.get("qosClass"):
        pod["status"] = status | {"qosClass": known}


def _kept_by_status(resource: resources.ResourceType) -> tuple[str, ...]:
    if resource.group in _METADATA_APART:
        return _USER_METADATA
    return _STATUS_KEEPS.get(resource.plural, ())
