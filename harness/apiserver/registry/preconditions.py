"""Checks that a write is meant for this object: its name, namespace, uid and resourceVersion.

After k8s.io/apiserver/pkg/registry: rest/{create,update}.go and generic/registry/store.go.
"""

import dataclasses
from typing import Any

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects

_WIPED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Metadata that clients cannot set on a new object."""


def set_namespace(resource: resources.ResourceType, namespace: str, meta: Document) -> None:
    """Set the namespace of the path, in place.

    Raises StatusError 400 if the document has another.
    """
    if not resource.namespaced:
        meta.pop("namespace", None)
        return
    if (meta.get("namespace") or namespace) != namespace:
        raise status_errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = namespace


def require_new(resource: resources.ResourceType, namespace: str, document: Document) -> None:
    """Set kind and namespace of a new object, and drop metadata that clients cannot set; in place.

    Raises StatusError 400 if it has another namespace.
    """
    meta: Document = document.setdefault("metadata", {})
    document["apiVersion"], document["kind"] = resource.api_version, resource.kind
    set_namespace(resource, namespace, meta)
    for key in _WIPED:
        meta.pop(key, None)


def names_version(meta: Document) -> bool:
    """Return whether resourceVersion is set; Kubernetes treats zero and malformed ones as unset."""
    text = meta.get("resourceVersion") or ""
    return text.isascii() and text.isdecimal() and text.strip("0") != ""


def require_patchable(
    resource: resources.ResourceType, old: stored_objects.Stored, document: Document
) -> None:
    """Check the result of a patch against the object that it patches.

    Raises StatusError 400 if it has no name, 422 if it has another uid, 409 if it has another
    resourceVersion.
    """
    require_name(document, old.name)
    meta = require_same(resource, old, document)
    if meta.get("uid") not in (None, "", old.uid):
        cause = field_errors.immutable("metadata.uid", meta["uid"])
        raise status_errors.invalid(resource, old.name, [cause])
    if meta.get("resourceVersion") not in (None, "", str(old.resource_version)):
        raise status_errors.stale(resource, old.name)


def require_same(
    resource: resources.ResourceType, old: stored_objects.Stored, document: Document
) -> Document:
    """Set kind, name and namespace of a document that replaces an object; return its metadata.

    Raises StatusError 400 if it has another name or namespace.
    """
    meta: Document = document.setdefault("metadata", {})
    document["apiVersion"], document["kind"] = resource.api_version, resource.kind
    _require_same_name(meta, old.name)
    meta["name"] = old.name
    set_namespace(resource, old.namespace, meta)
    return meta


def require_uid(
    resource: resources.ResourceType, old: stored_objects.Stored, meta: Document
) -> None:
    """Raise StatusError 409 if the metadata has the uid of another object."""
    if meta.get("uid") not in (None, "", old.uid):
        raise _mismatch(resource, old.name, "UID", meta["uid"], old.uid)


def require_version(
    resource: resources.ResourceType,
    old: stored_objects.Stored,
    meta: Document,
    *,
    subresource: str,
) -> None:
    """Check that an update is based on the current version.

    Raises StatusError 409 if it is not, 422 if the kind requires a resourceVersion and it has none.
    """
    version = meta.get("resourceVersion") or ""
    if resource.requires_version_on_update and not (version or subresource):
        at = "metadata.resourceVersion"
        cause = field_errors.invalid_value(at, "0", "must be specified for an update")
        named = dataclasses.replace(resource, kind=resource.plural)  # as upstream names it here
        raise status_errors.invalid(named, old.name, [cause])
    if version not in ("", "0", str(old.resource_version)):
        raise status_errors.stale(resource, old.name)


def require(resource: resources.ResourceType, old: stored_objects.Stored, meta: Document) -> None:
    """Raise StatusError 409 if the metadata has another uid or resourceVersion than the object."""
    require_uid(resource, old, meta)
    version = meta.get("resourceVersion")
    if version not in (None, "", str(old.resource_version)):
        raise _mismatch(resource, old.name, "ResourceVersion", version, old.resource_version)


def require_for_deletion(
    resource: resources.ResourceType, old: stored_objects.Stored, expected: Document
) -> None:
    """Raise StatusError 409 if the object has another uid or resourceVersion than expected."""
    uid, version = expected.get("uid"), expected.get("resourceVersion")
    if uid is not None and uid != old.uid:
        why = f"expected an object of uid {uid}, which it does not have: it has {old.uid}"
    elif version is not None and version != str(old.resource_version):
        why = f"expected resourceVersion {version}, but it has {old.resource_version}"
    else:
        return
    named = dataclasses.replace(resource, plural=resource.kind)  # as upstream names it here
    raise status_errors.conflict(named, old.name, why)


def require_none(resource: resources.ResourceType, name: str, document: Document) -> None:
    """Turn an update of an object that does not exist into its creation, in place.

    Raises StatusError 400 if it has another name, 409 if it has a uid.
    """
    meta = document["metadata"]
    _require_same_name(meta, name)
    if uid := meta.get("uid"):
        raise _mismatch(resource, name, "UID", uid, "")
    meta.pop("resourceVersion", None)


def require_name(document: Document, name: str) -> None:
    """Raise StatusError 400 if a document has no name; `name` is the one in the URL."""
    if not (document.get("metadata") or {}).get("name"):
        why = "was undeterminable: name must be provided"
        raise status_errors.bad_request(f"the name of the object ({name} based on URL) {why}")


def _require_same_name(meta: Document, name: str) -> None:
    if meta.get("name", name) != name:
        raise status_errors.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )


def _mismatch(
    resource: resources.ResourceType, name: str, what: str, expected: Any, actual: Any
) -> status_errors.StatusError:
    why = (
        f"Precondition failed: {what} in precondition: {expected}, {what} in object meta: {actual}"
    )
    return status_errors.conflict(resource, name, why)
