"""Checks that a write is meant for this object: its name, namespace, uid and resourceVersion.

After k8s.io/apiserver/pkg/registry: rest/{create,update}.go and generic/registry/store.go; names
are generated as in k8s.io/apiserver/pkg/storage/names.
"""

import random
from collections.abc import Callable

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

_WIPED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Metadata that clients cannot set on a new object."""
_UNSET = (None, "")
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_BASE_MAX = 58
"""Maximum length of the base of a generated name; longer ones are cut, in characters."""
_GENERATE_TRIES_MAX = 8


def require_new(resource: resources.ResourceType, namespace: str, document: Document) -> None:
    """Set kind and namespace of a new object, and drop metadata that clients cannot set; in place.

    Raises StatusError 400 if it has another namespace.
    """
    meta = _identify(resource, namespace, document)
    for key in _WIPED:
        meta.pop(key, None)


def _identify(resource: resources.ResourceType, namespace: str, document: Document) -> Document:
    meta: Document = document.setdefault("metadata", {})
    document["apiVersion"], document["kind"] = resource.api_version, resource.kind
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif (meta.get("namespace") or namespace) != namespace:
        raise status_errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta["namespace"] = namespace
    return meta


def complete_name(
    meta: Document, stream: random.Random, *, is_taken: Callable[[str], bool]
) -> None:
    """Set `name` from `generateName`, in place, if the object has no name.

    Tries _GENERATE_TRIES_MAX names; if all are taken, the last one is kept.
    """
    base = meta.get("generateName")
    if meta.get("name") or not base:
        return
    for _ in range(_GENERATE_TRIES_MAX):
        meta["name"] = generated(base, stream)
        if not is_taken(meta["name"]):
            return


def generated(base: str, stream: random.Random) -> str:
    """Return a name from `generateName`: the base, cut, and five random characters."""
    return base[:_GENERATED_BASE_MAX] + "".join(stream.choices(_ALPHABET, k=5))


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
    if meta.get("uid") not in (*_UNSET, old.uid):
        cause = field_errors.immutable("metadata.uid", meta["uid"])
        raise status_errors.invalid(resource, old.name, [cause])
    require_current(resource, old, meta)


def require_same(
    resource: resources.ResourceType, old: stored_objects.Stored, document: Document
) -> Document:
    """Set kind, name and namespace of a document that replaces an object; return its metadata.

    Raises StatusError 400 if it has another name or namespace.
    """
    meta = _identify(resource, old.namespace, document)
    _require_same_name(meta, old.name)
    meta["name"] = old.name
    return meta


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
        cause = field_errors.invalid(at, 0, "must be specified for an update")
        details = status_errors.about(resource, old.name)
        raise status_errors.unprocessable(f'{resource.plural} "{old.name}"', [cause], details)
    expected = {"uid": meta.get("uid"), "resourceVersion": version if version != "0" else ""}
    require_current(resource, old, expected)


def require_current(
    resource: resources.ResourceType,
    old: stored_objects.Stored,
    expected: Document,
    *,
    kind: str = "",
) -> None:
    """Raise StatusError 409 if the object has another uid or resourceVersion than expected.

    `kind`: the name in the error's details, if not the plural.
    """
    if (uid := expected.get("uid")) not in (*_UNSET, old.uid):
        why = f"Precondition failed: expected the uid {uid}, but the object has {old.uid}"
        raise status_errors.conflict(resource, old.name, why, kind=kind)
    if expected.get("resourceVersion") not in (*_UNSET, str(old.resource_version)):
        raise status_errors.conflict(resource, old.name, status_errors.STALE, kind=kind)


def require_none(resource: resources.ResourceType, name: str, document: Document) -> None:
    """Turn an update of an object that does not exist into its creation, in place.

    Raises StatusError 400 if it has another name, 409 if it has a uid.
    """
    meta = document["metadata"]
    _require_same_name(meta, name)
    if uid := meta.get("uid"):
        why = f"Precondition failed: expected the uid {uid}, but there is no such object"
        raise status_errors.conflict(resource, name, why)
    meta.pop("resourceVersion", None)


def require_name(document: Document, name: str) -> None:
    """Raise StatusError 400 if a document has no name; `name` is the one in the URL."""
    if not (document.get("metadata") or {}).get("name"):
        raise status_errors.bad_request(f"expected the object to have the name {name}, as the URL")


def _require_same_name(meta: Document, name: str) -> None:
    if meta.get("name", name) != name:
        raise status_errors.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
