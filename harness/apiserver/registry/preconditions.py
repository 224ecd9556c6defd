"""What a writer believes about the object that it writes: name, namespace, uid and version; errors when it is not so."""

import dataclasses
from typing import Any

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.registry import resource_strategies
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects

_WIPED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Metadata that clients cannot set on a new object."""


def set_namespace(resource: resources.ResourceType, namespace: str, meta: Document) -> None:
    """The namespace of the path, in place; 400 when the document names another."""
    if not resource.namespaced:
        meta.pop("namespace", None)
        return
    if (meta.get("namespace") or namespace) != namespace:
        raise status_errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = namespace


def require_new(resource: resources.ResourceType, namespace: str, document: Document) -> None:
    """Have a new document say where it belongs, and nothing that only the server may say, in place."""
    meta: Document = document.setdefault("metadata", {})
    document["apiVersion"], document["kind"] = resource.api_version, resource.kind
    set_namespace(resource, namespace, meta)
    for key in _WIPED:
        meta.pop(key, None)


def names_version(meta: Document) -> bool:
    """Return whether a resourceVersion is given; what is none counts as not given, as in Kubernetes."""
    text = meta.get("resourceVersion") or ""
    return text.isascii() and text.isdecimal() and text.strip("0") != ""


def require_patchable(
    resource: resources.ResourceType, old: stored_objects.Stored, document: Document
) -> None:
    """400 when a patch leaves no name, 422 when it is meant for another object of this name, 409 when it is for another version of it."""
    require_name(document, old.name)
    meta = require_same(resource, old, document)
    if meta.get("uid") not in (None, "", old.uid):
        found = [field_errors.immutable("metadata.uid", meta["uid"])] * 2
        raise status_errors.invalid(resource, old.name, found)
    if meta.get("resourceVersion") not in (None, "", str(old.resource_version)):
        raise status_errors.stale(resource, old.name)


def require_same(
    resource: resources.ResourceType, old: stored_objects.Stored, document: Document
) -> Document:
    """The metadata of a document that is to replace an object; 400 when it has another name or namespace."""
    meta: Document = document.setdefault("metadata", {})
    document["apiVersion"], document["kind"] = resource.api_version, resource.kind
    _require_same_name(meta, old.name)
    meta["name"] = old.name
    set_namespace(resource, old.namespace, meta)
    return meta


def require_uid(
    resource: resources.ResourceType, old: stored_objects.Stored, meta: Document
) -> None:
    """409 when the writer means another object of this name."""
    if meta.get("uid") not in (None, "", old.uid):
        raise _mismatch(resource, (old.namespace, old.name), "UID", meta["uid"], old.uid)


def require_version(
    resource: resources.ResourceType,
    old: stored_objects.Stored,
    meta: Document,
    *,
    subresource: str,
) -> None:
    """409 when the document is not based on the current version; some kinds must say on which it is."""
    version = meta.get("resourceVersion") or ""
    if not (version or subresource or resource_strategies.of(resource).allow_unconditional_update):
        at = "metadata.resourceVersion"
        cause = field_errors.invalid_value(at, "0", "must be specified for an update")
        named = dataclasses.replace(resource, kind=resource.plural)  # as this check does
        raise status_errors.invalid(named, old.name, [cause])
    if version not in ("", "0", str(old.resource_version)):
        raise status_errors.stale(resource, old.name)


def require(resource: resources.ResourceType, old: stored_objects.Stored, meta: Document) -> None:
    """409 when the writer means another object of this name, or another version of it."""
    require_uid(resource, old, meta)
    version = meta.get("resourceVersion")
    if version not in (None, "", str(old.resource_version)):
        raise _mismatch(
            resource, (old.namespace, old.name), "ResourceVersion", version, old.resource_version
        )


def require_for_deletion(
    resource: resources.ResourceType, old: stored_objects.Stored, wanted: Document
) -> None:
    """409 when the one who deletes means another object of this name, or another version of it."""
    uid, version = wanted.get("uid"), wanted.get("resourceVersion")
    if uid is not None and uid != old.uid:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({old.uid}). The object might have been deleted and then recreated"
        )
    elif version is not None and version != str(old.resource_version):
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({old.resource_version}). The object might have been modified"
        )
    else:
        return
    named = dataclasses.replace(resource, plural=resource.kind)  # as this check does
    raise status_errors.conflict(named, old.name, why)


def require_none(
    resource: resources.ResourceType, namespace: str, name: str, document: Document
) -> None:
    """Have an update say what is to be created; 400 for another name, 409 for the uid of an object that is gone."""
    meta = document["metadata"]
    _require_same_name(meta, name)
    if uid := meta.get("uid"):
        raise _mismatch(resource, (namespace, name), "UID", uid, "")
    meta.pop("resourceVersion", None)


def require_name(document: Document, name: str) -> None:
    """400 for a document that does not say of which object it is; `name` is the one that was meant."""
    if not (document.get("metadata") or {}).get("name"):
        why = "was undeterminable: name must be provided"
        raise status_errors.bad_request(f"the name of the object ({name} based on URL) {why}")


def _require_same_name(meta: Document, name: str) -> None:
    if meta.get("name", name) != name:
        raise status_errors.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )


def _mismatch(
    resource: resources.ResourceType, key: tuple[str, str], what: str, wanted: Any, found: Any
) -> status_errors.StatusError:
    folder = "minions" if resource is resources.NODES else resource.plural
    path = "/".join(part for part in ("/registry", folder, *key) if part)
    why = (
        f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, "
        f"{what} in object meta: {found}"
    )
    return status_errors.conflict(resource, key[1], why)
