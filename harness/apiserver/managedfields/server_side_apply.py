"""Server-side apply requests: read and check the body, merge it into the live object.

`field_managers` tracks the ownership of fields; `apply_merge` merges.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.apiserver.codec import go_values, json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.managedfields import apply_merge, field_managers, field_sets, typed_values
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, strict_decoding, yaml_bodies


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """An apply request: the applied document, its field manager and `force`."""

    document: Document
    manager: str
    force: bool = False
    """Take ownership of conflicting fields instead of failing with 409."""


# ------------------------------------------------------------------ reading


def read(resource: resources.ResourceType, body: bytes) -> Document:
    """Return the applied document of a request body in JSON or YAML.

    Raises StatusError 400 if it cannot be decoded or is of another kind, and 500 (as Kubernetes
    does) if it does not match the resource's type.
    """
    document = _decode(body)
    if document is None:
        document = {}
    if not isinstance(document, dict):
        json_type = strict_decoding.JSON_NAMES[type(document)]
        raise _undecodable(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_type} into Go value of type map[string]interface {{}}"
        )
    _require_kind(resource, document)
    meta = document.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") is not None:
        raise status_errors.bad_request("metadata.managedFields must be nil")
    _require_type(resource, document)
    return document


def _decode(body: bytes) -> Any:
    try:
        return json_codec.decode(body)
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
    found = problems(api_types.of(resource), document)
    if not found:
        return
    meta = document.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}"
    what = f"{name}; {_joined(resource.api_version, resource.kind)}"
    message = f"failed to create typed patch object ({what}): {summary(found)}"
    raise status_errors.StatusError(500, "", message)


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
    return status_errors.StatusError(409, "Conflict", _conflict_text(error), {"causes": causes})


def _conflict_text(error: apply_merge.ConflictsError) -> str:
    if len(error.conflicts) == 1:
        [(entry, path)] = error.conflicts
        field = field_sets.field_text(path)
        return f"Apply failed with 1 conflict: conflict with {_manager_text(entry)}: {field}"
    lines: list[str] = []
    last = None
    for entry, path in error.conflicts:
        if entry is not last:
            lines.append(f"conflicts with {_manager_text(entry)}:")
            last = entry
        lines.append(f"- {field_sets.field_text(path)}")
    return f"Apply failed with {len(error.conflicts)} conflicts: " + "\n".join(lines)


def _manager_text(entry: field_managers.Entry) -> str:
    text = _quoted(entry.get("manager", ""))
    if entry.get("subresource"):
        text += f" with subresource {_quoted(entry['subresource'])}"
    return f"{text} using {entry['apiVersion']}" if entry["operation"] == "Update" else text


def _quoted(text: str) -> str:
    return json_codec.encode(text).decode()


_TEXTS = ("string", "bytes", "time", "micro_time")


def problems(kind: api_types.Type, value: Any) -> list[str]:
    """Return what is wrong with a value, for example `.data: expected map, got 1`."""
    return list(_problems(kind, value, ""))


def _problems(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    if value is None or kind.kind == "any":
        return
    if kind.kind == "list":
        yield from _list_problems(kind, value, at)
    elif kind.kind in ("object", "map"):
        yield from _map_problems(kind, value, at)
    elif why := _scalar_problem(kind, value):
        yield f"{at}: {why}"


def summary(texts: list[str]) -> str:
    """Return all problems as one message."""
    return texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)])


def _map_problems(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: expected map, got {go_values.plain(value)}"
        return
    for name, child in value.items():
        if kind.kind == "object" and name not in kind.fields:
            yield f"{at}.{name}: field not declared in schema"
        else:
            yield from _problems(typed_values.field_type(kind, name), child, f"{at}.{name}")


def _list_problems(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{at}: expected list, got {go_values.plain(value)}"
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        step, why = _step(kind, item, index)
        if why:
            yield f"{at}: element {index}: {why}"
            continue
        if step in seen:
            yield f"{at}: duplicate entries for key {step}"
        seen.add(step)
        yield from _problems(typed_values.item_type(kind), item, at + step)


def _step(kind: api_types.Type, item: Any, index: int) -> tuple[str, str]:
    if kind.merges == "atomic":
        return f"[{index}]", ""
    if kind.merges == "map" and not isinstance(item, dict):
        return "", "associative list with keys may not have non-map elements"
    try:
        [(part, _)] = typed_values.items(kind, [item])
    except typed_values.KeyMissingError as error:
        return "", str(error)
    return field_sets.field_text((part,)), ""


def _scalar_problem(kind: api_types.Type, value: Any) -> str:
    if kind.kind in _TEXTS and not isinstance(value, str):
        return f"expected string, got {go_values.plain(value)}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind.kind in ("integer", "number") and not is_number:
        return f"expected numeric (int or float), got {go_values.plain(value)}"
    if kind.kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {go_values.plain(value)}"
    if isinstance(value, dict | list):
        return f"expected any scalar, got {go_values.plain(value)}"
    return ""
