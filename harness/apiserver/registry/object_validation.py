"""Which rules an object of each kind must keep to be stored, at creation and when it changes.

The server checks metadata by itself and once more with its kind, so a mistake in the metadata of a changed object has two causes.
"""

from collections.abc import Callable, Iterable

from harness.apiserver.errors import status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects
from harness.apiserver.validation.core import config_maps, events, node_rules, small_kinds
from harness.apiserver.validation.dra import (
    claim_status,
    device_classes,
    device_taints,
    resource_claims,
    resource_slices,
)
from harness.apiserver.validation.field import object_meta
from harness.apiserver.validation.pod import pod_changes, pod_spec, pod_status

CAUSES_MAX = 1000
"""An answer names no more."""
Causes = Iterable[Cause]
_Labels = Callable[[], dict[str, str]]
_Changes = dict[resources.ResourceType, Callable[[Document, Document], Causes]]


def check_create(
    served: resources.ResourceType, document: Document, *, namespace_labels: _Labels
) -> None:
    """StatusError 422 when a new object, in the form in which it is stored, breaks the rules of the resource it was sent to."""
    resource = resources.table_of(served)
    found = [
        *_admin_request(resource, document, namespace_labels),
        *object_meta.new(resource, document["metadata"]),
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
    changed = list(object_meta.changed(meta, before))
    found = [*object_meta.finalizers_of(meta), *changed]
    if subresource == "status" and resource is resources.CLAIMS:
        found += _admin_result(document, old, namespace_labels)
    found += [*changed, *object_meta.known_finalizers(resource, meta)]
    if rule := _CHANGED_PARTS.get(subresource, _CHANGED).get(resource):
        found += rule(document, old)
    _raise(resource, document, found)


def warnings(resource: resources.ResourceType, stored: stored_objects.Stored) -> tuple[str, ...]:
    """What its writer should know of an object that was stored."""
    rule = _WARNINGS.get(resources.table_of(resource))
    return tuple(rule(stored.document())) if rule else ()


def _raise(resource: resources.ResourceType, document: Document, found: list[Cause]) -> None:
    if found:
        del found[CAUSES_MAX:]
        name = document["metadata"].get("name") or document["metadata"].get("generateName", "")
        raise status_errors.invalid(resource, name, found)


def _admin_request(
    resource: resources.ResourceType, document: Document, namespace_labels: _Labels
) -> Causes:
    if resource not in (resources.CLAIMS, resources.CLAIM_TEMPLATES):
        return
    found = list(resource_claims.admin_request(document))
    if found and not resource_claims.is_admin_namespace(namespace_labels()):
        yield from found


def _admin_result(document: Document, old: Document, namespace_labels: _Labels) -> Causes:
    found = list(resource_claims.admin_result(document, old))
    if found and not resource_claims.is_admin_namespace(namespace_labels()):
        yield from found


def _unchanged(rule: Callable[[Document], Causes]) -> Callable[[Document, Document], Causes]:
    """A rule that asks no more of a changed object than of a new one."""
    return lambda document, _old: rule(document)


_NEW: dict[resources.ResourceType, Callable[[Document], Causes]] = {
    resources.PODS: pod_spec.pod,
    resources.NODES: node_rules.node,
    resources.NAMESPACES: small_kinds.namespace,
    resources.PRIORITY_CLASSES: small_kinds.priority_class,
    resources.EVENTS: events.event,
    resources.NEW_EVENTS: events.new_event,
    resources.CONFIGMAPS: config_maps.config_map,
    resources.SECRETS: config_maps.secret,
    resources.LEASES: small_kinds.lease,
    resources.CLAIMS: resource_claims.claim,
    resources.CLAIM_TEMPLATES: resource_claims.template,
    resources.SLICES: resource_slices.device_slice,
    resources.DEVICE_CLASSES: device_classes.device_class,
    resources.TAINT_RULES: device_taints.taint_rule,
}
_CHANGED: _Changes = {
    resources.PODS: pod_spec.pod_change,
    resources.NODES: node_rules.node_change,
    resources.PRIORITY_CLASSES: small_kinds.priority_class_change,
    resources.CONFIGMAPS: config_maps.config_map_change,
    resources.SECRETS: config_maps.secret_change,
    resources.LEASES: _unchanged(small_kinds.lease),
    resources.CLAIMS: resource_claims.claim_change,
    resources.CLAIM_TEMPLATES: resource_claims.template_change,
    resources.SLICES: resource_slices.device_slice,
    resources.DEVICE_CLASSES: device_classes.device_class,
    resources.TAINT_RULES: device_taints.taint_rule,
}
_CHANGED_STATUS: _Changes = {
    resources.PODS: pod_status.pod_status_change,
    resources.CLAIMS: claim_status.claim_status_change,
    resources.TAINT_RULES: device_taints.taint_rule_status,
}
_CHANGED_PARTS: dict[str, _Changes] = {
    "finalize": {resources.NAMESPACES: _unchanged(small_kinds.namespace)},
    "status": _CHANGED_STATUS,
    "ephemeralcontainers": {resources.PODS: pod_changes.ephemeral_containers},
    "resize": {resources.PODS: pod_changes.resize},
}
_WARNINGS: dict[resources.ResourceType, Callable[[Document], Iterable[str]]] = {
    resources.SLICES: resource_slices.warnings,
}
