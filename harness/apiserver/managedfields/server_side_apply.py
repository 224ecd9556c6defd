"""Server-side apply: from a request's body to the object that it makes of the live one, and the errors on the way.

Who has which fields is the business of `field_managers`.
"""

import dataclasses
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.managedfields import apply_merge, field_managers, field_sets, schema_check
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, json_bodies, strict_decoding, yaml_bodies


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What somebody wants an object to say."""

    document: Document
    manager: str
    force: bool = False
    """Whether fields are taken from others who want something else."""


# ------------------------------------------------------------------ reading


def read(resource: resources.ResourceType, body: bytes) -> Document:
    """The configuration in a body (JSON or YAML); 400 or 500 when it is none of this resource."""
    document = _decode(body)
    if document is None:
        document = {}
    if not isinstance(document, dict):
        what = strict_decoding.JSON_NAMES[type(document)]
        raise _undecodable(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{what} into Go value of type map[string]interface {{}}"
        )
    _require_kind(resource, document)
    meta = document.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") is not None:
        raise status_errors.bad_request("metadata.managedFields must be nil")
    _require_type(resource, document)
    return document


def _decode(body: bytes) -> Any:
    try:
        return json_bodies.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return yaml_bodies.read(body)
    except status_errors.StatusError as error:
        raise error if error.code == 413 else _undecodable(error.message) from error


def _undecodable(why: str) -> status_errors.StatusError:
    return status_errors.bad_request(f"error decoding YAML: {why}")


def _require_kind(resource: resources.ResourceType, document: Document) -> None:
    version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if (version, kind) != (resource.api_version, resource.kind):
        raise status_errors.bad_request(f"invalid object type: {_joined(version, kind)}")


def _joined(version: str, kind: str) -> str:
    group, _, version = str(version).rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _require_type(resource: resources.ResourceType, document: Document) -> None:
    found = list(schema_check.problems(api_types.of(resource), document))
    if not found:
        return
    meta = document.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}"
    what = f"{name}; {_joined(resource.api_version, resource.kind)}"
    message = f"failed to create typed patch object ({what}): {schema_check.summary(found)}"
    raise status_errors.StatusError(500, "", message)


# ------------------------------------------------------------------ applying


def apply(
    configuration: Configuration, live: Document, writer: field_managers.FieldWriter
) -> Document:
    """The live document with a configuration applied; 409 with causes when others want something else."""
    try:
        result, entries = apply_merge.after_apply(
            live, configuration.document, writer, force=configuration.force
        )
    except apply_merge.ConflictsError as error:
        raise _conflict(error) from None
    made: Document = decoding.read(api_types.of(writer.resource), result, decoding.Tally())
    if entries:
        made["metadata"]["managedFields"] = entries
    return made


def apply_to_nothing(
    configuration: Configuration, writer: field_managers.FieldWriter, name: str
) -> Document:
    """The new object that a configuration asks for."""
    made = apply(configuration, field_managers.nothing(writer.resource), writer)
    meta = made["metadata"]
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
    return made


# ------------------------------------------------------------------ conflicts


def _conflict(error: apply_merge.ConflictsError) -> status_errors.StatusError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_who(entry)}",
            "field": field_sets.field_text(path),
        }
        for entry, path in error.conflicts
    ]
    return status_errors.StatusError(409, "Conflict", _conflict_text(error), {"causes": causes})


def _conflict_text(error: apply_merge.ConflictsError) -> str:
    if len(error.conflicts) == 1:
        [(entry, path)] = error.conflicts
        return f"Apply failed with 1 conflict: conflict with {_who(entry)}: {field_sets.field_text(path)}"
    lines: list[str] = []
    last = None
    for entry, path in error.conflicts:
        if entry is not last:
            lines.append(f"conflicts with {_who(entry)}:")
            last = entry
        lines.append(f"- {field_sets.field_text(path)}")
    return f"Apply failed with {len(error.conflicts)} conflicts: " + "\n".join(lines)


def _who(entry: field_managers.Entry) -> str:
    text = _quoted(entry.get("manager", ""))
    if entry.get("subresource"):
        text += f" with subresource {_quoted(entry['subresource'])}"
    return f"{text} using {entry['apiVersion']}" if entry["operation"] == "Update" else text


def _quoted(text: str) -> str:
    return json_codec.encode(text).decode()
