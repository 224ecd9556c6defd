"""Which rules an object of each kind must keep to be stored, at creation and when it changes.

The server checks metadata by itself and once more with its kind, so a mistake in the metadata of a changed object has two causes.
"""

from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver import resources, statuses, storing
from harness.apiserver.rules import (
    allocations,
    claims,
    classes,
    configmaps,
    events,
    leases,
    metadata,
    namespaces,
    nodes,
    pod_parts,
    pod_statuses,
    pods,
    priorities,
    slices,
    taints,
)

Document = dict[str, Any]
CAUSES_MAX = 1000
"""An answer names no more."""
Causes = Iterable[statuses.Cause]
_Labels = Callable[[], dict[str, str]]
_Changes = dict[resources.ResourceType, Callable[[Document, Document], Causes]]


def check_create(
    served: resources.ResourceType, document: Document, *, namespace_labels: _Labels
) -> None:
    """StatusError 422 when a new object, in the form in which it is stored, breaks the rules of the resource it was sent to."""
    resource = resources.table_of(served)
    found = [
        *_admin_request(resource, document, namespace_labels),
        *metadata.new(resource, document["metadata"]),
    ]
    if rule := _NEW.get(served) or _NEW.get(resource):
        found += rule(document)
    _raise(resource, document, found)


def check_update(
    resource: resources.ResourceType,
    document: Document,
    old: Document,
    *,
    subresource: str = "",
    namespace_labels: _Labels,
) -> None:
    """StatusError 422 when a changed object breaks rules."""
    meta, before = document["metadata"], old["metadata"]
    changed = list(metadata.changed(meta, before))
    found = [*metadata.finalizers_of(meta), *changed]
    if subresource == "status" and resource is resources.CLAIMS:
        found += _admin_result(document, old, namespace_labels)
    found += [*changed, *metadata.known_finalizers(resource, meta)]
    if rule := _CHANGED_PARTS.get(subresource, _CHANGED).get(resource):
        found += rule(document, old)
    _raise(resource, document, found)


def warnings(resource: resources.ResourceType, stored: storing.Stored) -> tuple[str, ...]:
    """What its writer should know of an object that was stored."""
    rule = _WARNINGS.get(resources.table_of(resource))
    return tuple(rule(stored.document())) if rule else ()


def _raise(
    resource: resources.ResourceType, document: Document, found: list[statuses.Cause]
) -> None:
    if found:
        del found[CAUSES_MAX:]
        name = document["metadata"].get("name") or document["metadata"].get("generateName", "")
        raise statuses.invalid(resource, name, found)


def _admin_request(
    resource: resources.ResourceType, document: Document, namespace_labels: _Labels
) -> Causes:
    if resource not in (resources.CLAIMS, resources.CLAIM_TEMPLATES):
        return
    found = list(claims.admin_request(document))
    if found and not claims.is_admin_namespace(namespace_labels()):
        yield from found


def _admin_result(document: Document, old: Document, namespace_labels: _Labels) -> Causes:
    found = list(claims.admin_result(document, old))
    if found and not claims.is_admin_namespace(namespace_labels()):
        yield from found


def _unchanged(rule: Callable[[Document], Causes]) -> Callable[[Document, Document], Causes]:
    """A rule that asks no more of a changed object than of a new one."""
    return lambda document, _old: rule(document)


_NEW: dict[resources.ResourceType, Callable[[Document], Causes]] = {
    resources.PODS: pods.pod,
    resources.NODES: nodes.node,
    resources.NAMESPACES: namespaces.namespace,
    resources.PRIORITY_CLASSES: priorities.priority_class,
    resources.EVENTS: events.event,
    resources.NEW_EVENTS: events.new_event,
    resources.CONFIGMAPS: configmaps.config_map,
    resources.SECRETS: configmaps.secret,
    resources.LEASES: leases.lease,
    resources.CLAIMS: claims.claim,
    resources.CLAIM_TEMPLATES: claims.template,
    resources.SLICES: slices.device_slice,
    resources.DEVICE_CLASSES: classes.device_class,
    resources.TAINT_RULES: taints.rule,
}
_CHANGED: _Changes = {
    resources.PODS: pods.pod_change,
    resources.NODES: nodes.node_change,
    resources.PRIORITY_CLASSES: priorities.priority_class_change,
    resources.CONFIGMAPS: configmaps.config_map_change,
    resources.SECRETS: configmaps.secret_change,
    resources.LEASES: _unchanged(leases.lease),
    resources.CLAIMS: claims.claim_change,
    resources.CLAIM_TEMPLATES: claims.template_change,
    resources.SLICES: slices.device_slice,
    resources.DEVICE_CLASSES: classes.device_class,
    resources.TAINT_RULES: taints.rule,
}
_CHANGED_STATUS: _Changes = {
    resources.PODS: pod_statuses.changed,
    resources.CLAIMS: allocations.status,
    resources.TAINT_RULES: taints.rule_status,
}
_CHANGED_PARTS: dict[str, _Changes] = {
    "finalize": {resources.NAMESPACES: _unchanged(namespaces.namespace)},
    "status": _CHANGED_STATUS,
    "ephemeralcontainers": {resources.PODS: pod_parts.ephemeral_containers},
    "resize": {resources.PODS: pod_parts.resize},
}
_WARNINGS: dict[resources.ResourceType, Callable[[Document], Iterable[str]]] = {
    resources.SLICES: slices.warnings,
}
