"""The merge of server-side apply: merge a configuration, prune dropped fields, find conflicts.

After sigs.k8s.io/structured-merge-diff/merge/update.go.
"""

import dataclasses
import functools

from harness.apiserver.managedfields import field_managers, field_sets, typed_values
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document

_BEFORE_FIRST_APPLY = "before-first-apply"


class ConflictsError(Exception):
    """The configuration changes fields that other managers own."""

    def __init__(self, conflicts: list[tuple[field_managers.Entry, field_sets.Path]]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts
        """The other manager's entry and the path of the field, for each conflict."""


def after_apply(
    live: Document, applied: Document, writer: field_managers.FieldWriter, *, force: bool
) -> tuple[Document, list[field_managers.Entry]]:
    """Return the live document with a configuration applied, and its managedFields entries.

    Raises ConflictsError if other managers own fields that change, unless `force` is set.
    """
    kind = api_types.of(writer.resource)
    entries = live["metadata"].get("managedFields") or _before_first_apply(live, writer)
    mine = field_managers.identity(writer.entry)
    others = [entry for entry in entries if field_managers.identity(entry) != mine]
    last = next((entry for entry in entries if field_managers.identity(entry) == mine), None)
    ignored = writer.reset_fields
    fields = field_sets.without(typed_values.fields_of(kind, applied), ignored)
    base = field_managers.unmanaged(live)
    result = typed_values.merge(kind, base, applied)
    if last is not None:
        result = _prune(kind, result, last["fieldsV1"], [fields, *_fields(others)])
    change = typed_values.compare(kind, base, result).excluding(ignored)
    if not force:
        _require_no_conflicts(others, change.written)
    fields = field_sets.difference(fields, field_managers.SERVERS_OWN)
    entries = field_managers.lost(others, change)
    if fields:
        entries.append(_applied_entry(writer, fields, last, changed=result != base))
    return result, field_managers.ordered(entries)


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


def _before_first_apply(
    live: Document, writer: field_managers.FieldWriter
) -> list[field_managers.Entry]:
    """Return one entry that owns all fields of an object that has no managedFields yet.

    The list is empty for an object that does not exist yet.
    """
    empty = field_managers.nothing(writer.resource)
    if live is empty:
        return []
    earlier = dataclasses.replace(writer, manager=_BEFORE_FIRST_APPLY, operation="Update")
    return field_managers.after_update(empty, live, earlier)


def _fields(entries: list[field_managers.Entry]) -> list[field_sets.Tree]:
    return [entry["fieldsV1"] for entry in entries]


def _require_no_conflicts(others: list[field_managers.Entry], written: field_sets.Tree) -> None:
    conflicts = [
        (entry, path)
        for entry in sorted(others, key=field_managers.age)
        for path in field_sets.paths(field_sets.intersection(entry["fieldsV1"], written))
    ]
    if conflicts:
        raise ConflictsError(conflicts)


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
