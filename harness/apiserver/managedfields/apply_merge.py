"""Server-side apply as a merge: what an applier wants, what it no longer wants, and who disagrees."""

import dataclasses
import functools

from harness.apiserver.managedfields import field_managers, field_sets, typed_values
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document

_BEFORE_FIRST_APPLY = "before-first-apply"


class ConflictsError(Exception):
    """Others have fields that an applier wants to be different."""

    def __init__(self, conflicts: list[tuple[field_managers.Entry, field_sets.Path]]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts
        """The entries of the others, and the fields."""


def after_apply(
    live: Document, applied: Document, writer: field_managers.FieldWriter, *, force: bool
) -> tuple[Document, list[field_managers.Entry]]:
    """The live document with a configuration applied, and its entries; ConflictsError unless forced."""
    kind = api_types.of(writer.resource)
    entries = live["metadata"].get("managedFields") or _before_first_apply(live, writer)
    mine = field_managers.identity(writer.entry)
    others = [entry for entry in entries if field_managers.identity(entry) != mine]
    last = next((entry for entry in entries if field_managers.identity(entry) == mine), None)
    ignored = field_managers.reset_fields(writer.resource, writer.subresource)
    wanted = field_sets.without(typed_values.fields_of(kind, applied), ignored)
    base = field_managers.unmanaged(live)
    result = typed_values.merge(kind, base, applied)
    if last is not None:
        result = _prune(kind, result, last["fieldsV1"], [wanted, *_fields(others)])
    change = typed_values.compare(kind, base, result).excluding(ignored)
    if not force:
        _require_no_conflicts(others, change.written)
    wanted = field_sets.difference(wanted, field_managers.SERVERS_OWN)
    entries = field_managers.lost(others, change)
    if wanted:
        entries.append(_applied_entry(writer, wanted, last, changed=result != base))
    return result, field_managers.ordered(entries)


def _applied_entry(
    writer: field_managers.FieldWriter,
    wanted: field_sets.Tree,
    last: field_managers.Entry | None,
    *,
    changed: bool,
) -> field_managers.Entry:
    """The applier's entry; its time is that of the last change, and it has none before there was one."""
    made = {**writer.entry, "fieldsV1": field_managers.in_order(wanted)}
    if not changed:
        made.pop("time")
        if last is not None and "time" in last:
            made["time"] = last["time"]
    return made


def _before_first_apply(
    live: Document, writer: field_managers.FieldWriter
) -> list[field_managers.Entry]:
    """What an object says of which nobody was remembered, as the fields of one more manager."""
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
    """The document without what the applier wanted last time and nobody wants now."""
    last = typed_values.with_parents(kind, last)
    pruned: Document = typed_values.remove(kind, merged, last)
    kept = typed_values.with_parents(kind, functools.reduce(field_sets.union, owned))
    pruned = typed_values.remove(kind, merged, _missing(kind, merged, pruned, besides=kept))
    # what hung below a field that went, but was never this applier's, comes back as well
    dangling = _missing(kind, merged, pruned, besides={})
    result: Document = typed_values.remove(kind, merged, field_sets.intersection(dangling, last))
    return result


def _missing(
    kind: api_types.Type, merged: Document, pruned: Document, *, besides: field_sets.Tree
) -> field_sets.Tree:
    """The fields that are in the first document alone, but for some."""
    here = typed_values.with_parents(kind, typed_values.fields_of(kind, merged))
    there = typed_values.with_parents(kind, typed_values.fields_of(kind, pruned))
    return field_sets.difference(here, field_sets.union(there, besides))
