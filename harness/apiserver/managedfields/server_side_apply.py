"""Server-side apply requests: read and check the body, merge it into the live object.

`field_managers` tracks the ownership of fields; `apply_merge` merges.
"""

import dataclasses
from typing import Any

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.managedfields import apply_merge, field_managers, field_sets, typed_values
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, request_objects


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """An apply request: the applied document, its field manager and `force`."""

    document: Document
    manager: str
    force: bool = False
    """Take ownership of conflicting fields instead of failing with 409."""


# ------------------------------------------------------------------ reading


def read(resource: resources.ResourceType, body: bytes) -> Document:
    """Return the applied document of a request body in JSON.

    Raises StatusError 400 if it cannot be decoded or is of another kind, and 500 (as Kubernetes
    does) if it does not match the resource's type.
    """
    document = request_objects.parse(body)
    if not isinstance(document, dict):
        raise status_errors.bad_request("expected an object to apply")
    if (document.get("apiVersion"), document.get("kind")) != (resource.api_version, resource.kind):
        raise status_errors.bad_request(
            f"expected {resource.kind} of {resource.api_version}, got {document.get('kind')} of "
            f"{document.get('apiVersion')}"
        )
    try:
        _require_type(api_types.of(resource), document)
    except ValueError as error:
        message = f"failed to create typed patch object: {error}"
        raise status_errors.StatusError(500, "", message) from error
    if (document.get("metadata") or {}).get("managedFields") is not None:
        raise status_errors.bad_request("metadata.managedFields must be nil")
    return document


def _require_type(kind: api_types.Type, document: Document) -> None:
    """Raise ValueError for values of other types, unknown fields, and items without an owner."""
    decoding.read(kind, document, decoding.Tally())
    for at in decoding.unknown_fields(kind, document):
        raise ValueError(f".{at}: field not declared in schema")
    _require_keys(kind, document)


def _require_keys(kind: api_types.Type, value: Any) -> None:
    """Raise ValueError if items of an associative list have no key, or the same."""
    if kind.kind == "list" and isinstance(value, list):
        if kind.merges != "atomic":
            keys = [part for part, _ in typed_values.items(kind, value)]
            if len(set(keys)) < len(keys):
                raise ValueError("duplicate entries in an associative list")
        for item in value:
            _require_keys(typed_values.item_type(kind), item)
    elif kind.kind in ("object", "map") and isinstance(value, dict):
        for name, child in value.items():
            _require_keys(typed_values.field_type(kind, name), child)


# ------------------------------------------------------------------ applying


def apply(
    configuration: Configuration, live: Document, writer: field_managers.FieldWriter
) -> Document:
    """Return the live document with a configuration applied.

    Raises StatusError 409 with one cause for each field that another manager owns.
    """
    try:
        result, entries = apply_merge.after_apply(
            live, configuration.document, writer, force=configuration.force
        )
    except apply_merge.ConflictsError as error:
        raise _conflict(error) from None
    document: Document = decoding.read(api_types.of(writer.resource), result, decoding.Tally())
    if entries:
        document["metadata"]["managedFields"] = entries
    return document


def apply_to_nothing(
    configuration: Configuration, writer: field_managers.FieldWriter, name: str
) -> Document:
    """Return the new object that a configuration creates.

    Raises StatusError 409 if the configuration has a uid, and 400 if its name is not `name`.
    """
    document = apply(configuration, field_managers.nothing(writer.resource), writer)
    meta = document["metadata"]
    if uid := meta.pop("uid", None):
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise status_errors.conflict(writer.resource, name, why)
    meta.pop("resourceVersion", None)
    if not meta.get("name"):
        why = "was undeterminable: name must be provided"
        raise status_errors.bad_request(f"the name of the object ({name} based on URL) {why}")
    if meta["name"] != name:
        why = f"does not match the name on the URL ({name})"
        raise status_errors.bad_request(f"the name of the object ({meta['name']}) {why}")
    return document


# ------------------------------------------------------------------ conflicts


def _conflict(error: apply_merge.ConflictsError) -> status_errors.StatusError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_manager_text(entry)}",
            "field": field_sets.field_text(path),
        }
        for entry, path in error.conflicts
    ]
    texts = "\n".join(f"{cause['message']}: {cause['field']}" for cause in causes)
    plural = "" if len(causes) == 1 else "s"
    message = f"Apply failed with {len(causes)} conflict{plural}: {texts}"
    return status_errors.StatusError(409, "Conflict", message, {"causes": causes})


def _manager_text(entry: field_managers.Entry) -> str:
    text = _quoted(entry.get("manager", ""))
    if entry.get("subresource"):
        text += f" with subresource {_quoted(entry['subresource'])}"
    return f"{text} using {entry['apiVersion']}" if entry["operation"] == "Update" else text


def _quoted(text: str) -> str:
    return json_codec.encode(text).decode()
