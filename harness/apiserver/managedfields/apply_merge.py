"""Server-side apply as a merge: what an applier wants, what it no longer wants, and who disagrees."""

import dataclasses
import functools
from typing import Any

from harness.apiserver import fieldsets, managers, schemas, typed

Document = dict[str, Any]
_BEFORE_FIRST_APPLY = "before-first-apply"


class ConflictsError(Exception):
    """Others have fields that an applier wants to be different."""

    def __init__(self, conflicts: list[tuple[managers.Entry, fieldsets.Path]]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts
        """The entries of the others, and the fields."""


def after_apply(
    live: Document, applied: Document, writer: managers.Writer, *, force: bool
) -> tuple[Document, list[managers.Entry]]:
    """The live document with a configuration applied, and its entries; ConflictsError unless forced."""
    kind = schemas.of(writer.resource)
    entries = live["metadata"].get("managedFields") or _before_first_apply(live, writer)
    mine = managers.identity(writer.entry)
    others = [entry for entry in entries if managers.identity(entry) != mine]
    last = next((entry for entry in entries if managers.identity(entry) == mine), None)
    ignored = managers.reset_fields(writer.resource, writer.subresource)
    wanted = fieldsets.without(typed.fields_of(kind, applied), ignored)
    base = managers.unmanaged(live)
    result = typed.merge(kind, base, applied)
    if last is not None:
        result = _prune(kind, result, last["fieldsV1"], [wanted, *_fields(others)])
    change = typed.compare(kind, base, result).excluding(ignored)
    if not force:
        _require_no_conflicts(others, change.written)
    wanted = fieldsets.difference(wanted, managers.SERVERS_OWN)
    entries = managers.lost(others, change)
    if wanted:
        entries.append(_applied_entry(writer, wanted, last, changed=result != base))
    return result, managers.ordered(entries)


def _applied_entry(
    writer: managers.Writer, wanted: fieldsets.Tree, last: managers.Entry | None, *, changed: bool
) -> managers.Entry:
    """The applier's entry; its time is that of the last change, and it has none before there was one."""
    made = {**writer.entry, "fieldsV1": managers.in_order(wanted)}
    if not changed:
        made.pop("time")
        if last is not None and "time" in last:
            made["time"] = last["time"]
    return made


def _before_first_apply(live: Document, writer: managers.Writer) -> list[managers.Entry]:
    """What an object says of which nobody was remembered, as the fields of one more manager."""
    empty = managers.nothing(writer.resource)
    if live is empty:
        return []
    earlier = dataclasses.replace(writer, manager=_BEFORE_FIRST_APPLY, operation="Update")
    return managers.after_update(empty, live, earlier)


def _fields(entries: list[managers.Entry]) -> list[fieldsets.Tree]:
    return [entry["fieldsV1"] for entry in entries]


def _require_no_conflicts(others: list[managers.Entry], written: fieldsets.Tree) -> None:
    conflicts = [
        (entry, path)
        for entry in sorted(others, key=managers.age)
        for path in fieldsets.paths(fieldsets.intersection(entry["fieldsV1"], written))
    ]
    if conflicts:
        raise ConflictsError(conflicts)


def _prune(
    kind: schemas.Type, merged: Document, last: fieldsets.Tree, owned: list[fieldsets.Tree]
) -> Document:
    """The document without what the applier wanted last time and nobody wants now."""
    last = typed.with_parents(kind, last)
    pruned: Document = typed.remove(kind, merged, last)
    kept = typed.with_parents(kind, functools.reduce(fieldsets.union, owned))
    pruned = typed.remove(kind, merged, _missing(kind, merged, pruned, besides=kept))
    # what hung below a field that went, but was never this applier's, comes back as well
    dangling = _missing(kind, merged, pruned, besides={})
    result: Document = typed.remove(kind, merged, fieldsets.intersection(dangling, last))
    return result


def _missing(
    kind: schemas.Type, merged: Document, pruned: Document, *, besides: fieldsets.Tree
) -> fieldsets.Tree:
    """The fields that are in the first document alone, but for some."""
    here = typed.with_parents(kind, typed.fields_of(kind, merged))
    there = typed.with_parents(kind, typed.fields_of(kind, pruned))
    return fieldsets.difference(here, fieldsets.union(there, besides))
