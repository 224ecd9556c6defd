"""Server-side apply: read a configuration, merge it, prune dropped fields, find conflicts.

After sigs.k8s.io/structured-merge-diff/merge/update.go. `field_managers` tracks the ownership of
fields.
"""

import dataclasses
import functools
from typing import Any

from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.managedfields import field_managers, field_sets, typed_values
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding

_BEFORE_FIRST_APPLY = "before-first-apply"


# ------------------------------------------------------------------ reading


def read(resource: resources.ResourceType, document: Any) -> Document:
    """Return the configuration in a request's body.

    Raises StatusError 400 if it is of another kind, and 500 (as Kubernetes does) if it does not
    match the resource's type.
    """
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
    decoding.read(kind, document)
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
            _require_keys(kind.item_type, item)
    elif kind.kind in ("object", "map") and isinstance(value, dict):
        for name, child in value.items():
            _require_keys(typed_values.field_type(kind, name), child)


# ------------------------------------------------------------------ applying


def apply(
    applied: Document, live: Document, writer: field_managers.FieldWriter, *, force: bool
) -> Document:
    """Return the live document with a configuration applied.

    Raises StatusError 409 with one cause for each field that another manager owns, unless `force`
    is set.
    """
    kind = api_types.of(writer.resource)
    mine, others, owned = _owners(live, writer)
    ignored = writer.reset_fields
    fields = field_sets.without(typed_values.fields_of(kind, applied), ignored)
    base = field_managers.unmanaged(live)
    result = typed_values.merge(kind, base, applied)
    if mine is not None:
        result = _prune(kind, result, mine["fieldsV1"], [fields, *owned])
    change = typed_values.compare(kind, base, result).excluding(ignored)
    if not force:
        _require_no_conflicts(others, change.written)
    fields = field_sets.difference(fields, field_managers.SERVERS_OWN)
    entries = field_managers.lost(others, change)
    if fields:
        entries.append(_applied_entry(writer, fields, mine, changed=result != base))
    document: Document = decoding.read(kind, result)
    if entries:
        document["metadata"]["managedFields"] = field_managers.ordered(entries)
    return document


def apply_to_nothing(applied: Document, writer: field_managers.FieldWriter, name: str) -> Document:
    """Return the new object that a configuration creates.

    Raises StatusError 409 if the configuration has a uid, and 400 if its name is not `name`.
    """
    document = apply(applied, field_managers.nothing(writer.resource), writer, force=False)
    meta = document["metadata"]
    if uid := meta.pop("uid", None):
        why = f"the configuration has the uid {uid}, and there is no such object"
        raise status_errors.conflict(writer.resource, name, why)
    meta.pop("resourceVersion", None)
    if meta.get("name") != name:
        why = f"expected the name {name} as in the URL, got {meta.get('name')}"
        raise status_errors.bad_request(why)
    return document


def _owners(
    live: Document, writer: field_managers.FieldWriter
) -> tuple[field_managers.Entry | None, list[field_managers.Entry], list[field_sets.Tree]]:
    """Return the applier's last entry, the entries of the others, and the fields of these.

    One entry owns all fields of an object that has no managedFields yet.
    """
    entries = live["metadata"].get("managedFields")
    nothing = field_managers.nothing(writer.resource)
    if not entries and live is not nothing:
        earlier = dataclasses.replace(writer, manager=_BEFORE_FIRST_APPLY, operation="Update")
        entries = field_managers.after_update(nothing, live, earlier)
    own, mine, others = field_managers.identity(writer.entry), None, []
    for entry in entries or ():
        if field_managers.identity(entry) == own:
            mine = entry
        else:
            others.append(entry)
    return mine, others, [entry["fieldsV1"] for entry in others]


def _applied_entry(
    writer: field_managers.FieldWriter,
    fields: field_sets.Tree,
    last: field_managers.Entry | None,
    *,
    changed: bool,
) -> field_managers.Entry:
    """Return the applier's new entry.

    If the object did not change, the entry keeps the `time` of the last entry, or has none.
    """
    entry = {**writer.entry, "fieldsV1": field_managers.in_order(fields)}
    if not changed:
        entry.pop("time")
        if last is not None and "time" in last:
            entry["time"] = last["time"]
    return entry


def _prune(
    kind: api_types.Type, merged: Document, last: field_sets.Tree, owned: list[field_sets.Tree]
) -> Document:
    """Remove the fields that the applier's last configuration set and that no manager owns now.

    `owned` holds the field sets of the new configuration and of the other managers.
    """
    union = functools.reduce(field_sets.union, owned)
    if not field_sets.difference(last, union):
        return merged
    last = typed_values.with_parents(kind, last)
    pruned: Document = typed_values.remove(kind, merged, last)
    kept = typed_values.with_parents(kind, union)
    here = typed_values.with_parents(kind, typed_values.fields_of(kind, merged))
    pruned = typed_values.remove(kind, merged, _missing(kind, here, pruned, besides=kept))
    # Only fields of the last configuration go; anything else removed with a parent stays.
    dangling = _missing(kind, here, pruned, besides={})
    result: Document = typed_values.remove(kind, merged, field_sets.intersection(dangling, last))
    return result


def _missing(
    kind: api_types.Type, here: field_sets.Tree, pruned: Document, *, besides: field_sets.Tree
) -> field_sets.Tree:
    """Return the fields of `here` that a document does not have, except `besides`."""
    there = typed_values.with_parents(kind, typed_values.fields_of(kind, pruned))
    return field_sets.difference(here, field_sets.union(there, besides))


# ------------------------------------------------------------------ conflicts


def _require_no_conflicts(others: list[field_managers.Entry], written: field_sets.Tree) -> None:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{entry["manager"]}"',
            "field": field_sets.field_text(path),
        }
        for entry in others
        for path in field_sets.paths(field_sets.intersection(entry["fieldsV1"], written))
    ]
    if causes:
        texts = "\n".join(f"{cause['message']}: {cause['field']}" for cause in causes)
        message = f"Apply failed with {len(causes)} conflict(s): {texts}"
        raise status_errors.StatusError(409, "Conflict", message, {"causes": causes})
