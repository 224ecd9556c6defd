"""The entries of `metadata.managedFields`: which manager owns which fields of an object.

An entry belongs to one manager, one operation (`Update` or `Apply`), one version and one
subresource. Writing a field takes its ownership from all other managers, but several appliers of
the same value share it. The fields of an entry are trees in the form of `field_sets`.

After k8s.io/apimachinery/pkg/util/managedfields/internal.
"""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.managedfields import field_sets, typed_values
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document

Entry = dict[str, Any]
Identity = tuple[str, ...]
UPDATE_ENTRIES_MAX = 10
"""Maximum number of `Update` entries of one object; beyond it the oldest are put together."""
_ANCIENT = "ancient-changes"
_UNKNOWN = "unknown"
_OWN_METADATA = frozenset(
    {
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
        "resourceVersion",
    }
)  # fmt: skip
SERVERS_OWN = field_sets.of_paths(
    "apiVersion", "kind", "metadata", *(f"metadata.{name}" for name in _OWN_METADATA)
)
"""Fields that no manager ever owns."""
_sorting_encoder = msgspec.json.Encoder(order="sorted")
_SORTED_BY_MSGSPEC_BYTES_MAX = 16 * 1024
"""Maximum size of a field set that msgspec sorts, in bytes of JSON.

It is the fastest for few keys, but its time grows with the square of their number.
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldWriter:
    """The manager, operation and time of one write."""

    resource: resources.ResourceType
    manager: str
    subresource: str = ""
    operation: Literal["Apply", "Update"] = "Update"
    reset_fields: field_sets.Tree = dataclasses.field(default_factory=dict)
    """The fields that the endpoint ignores, so that no writer owns them."""
    now: str

    @property
    def entry(self) -> Entry:
        """The writer's managedFields entry, with an empty set of fields."""
        entry = {
            "manager": self.manager or _UNKNOWN,
            "operation": self.operation,
            "apiVersion": self.resource.api_version,
            "time": self.now,
            "fieldsType": "FieldsV1",
            "fieldsV1": field_sets.LEAF,
        }
        return entry | ({"subresource": self.subresource} if self.subresource else {})


def of_created(document: Document, writer: FieldWriter) -> list[Entry]:
    """Return the entries of a new object: the entries that it brought, and its writer's."""
    if "managedFields" in document["metadata"]:
        return after_update(nothing(writer.resource), document, writer)
    try:
        written = _written_by_creation(document, writer)
    except typed_values.KeyMissingError:
        return []
    return [{**writer.entry, "fieldsV1": written}] if written else []


def _written_by_creation(document: Document, writer: FieldWriter) -> field_sets.Tree:
    """Return the fields that a create request sets, part by part so that each can be cached."""
    kind, before = api_types.of(writer.resource), nothing(writer.resource)
    ignored = writer.reset_fields
    fields = {}
    for name in sorted(document):
        field = kind.fields.get(name)
        if field is None or f"f:{name}" in ignored or name in _TYPE_META:
            continue
        written = _written_part(
            field.type, before.get(name, typed_values.ABSENT), document[name], name
        )
        if written is not None:
            fields[f"f:{name}"] = written
    return fields


_TYPE_META = frozenset({"apiVersion", "kind"})
_PART_BYTES_MAX = 4_096
"""Maximum size of a part whose fields are cached, in bytes of JSON."""
_PARTS_MAX = 4_096
"""Maximum number of cached parts; the cache is emptied when it is full."""
_NOT_CACHED: Any = object()
"""Returned by a lookup that finds no entry; None is a valid entry."""
_fields_of_parts: dict[tuple[api_types.Type, bytes], field_sets.Tree | None] = {}
"""The fields that a top-level part of a new object sets, by the part's type and JSON.

The fields depend on nothing else, so an entry is valid as long as the process lives.
"""


def _written_part(
    kind: api_types.Type, before: Any, value: Any, name: str
) -> field_sets.Tree | None:
    """Return the fields that one top-level field of a new object sets; None if it sets none.

    Objects of one template differ in their names only, so most of their parts are in the cache.
    """
    if name == "metadata":
        value = {key: item for key, item in value.items() if key not in _OWN_METADATA}
    key = (kind, json_codec.encode(value))
    cached: field_sets.Tree | None = _fields_of_parts.get(key, _NOT_CACHED)
    if cached is not _NOT_CACHED:
        return cached
    written = typed_values.compare_part(kind, before, value)
    if written is not None:
        written = in_order(written)
    if len(key[1]) <= _PART_BYTES_MAX:
        if len(_fields_of_parts) >= _PARTS_MAX:
            _fields_of_parts.clear()
        _fields_of_parts[key] = written
    return written


def after_update(old: Document, new: Document, writer: FieldWriter) -> list[Entry]:
    """Return the entries of an object after an update.

    The managedFields of the new document are used if they are well-formed, and those of the old one
    otherwise; then the fields that changed are moved to the writer's entry.
    """
    before = old["metadata"].get("managedFields")
    after = None if writer.subresource else new["metadata"].get("managedFields")
    entries = before if after is None or after == before else _chosen(before, after)
    if not entries and old is not nothing(writer.resource):
        return []  # an object without managedFields gets none until the first apply
    try:
        change = _compare(old, new, writer)
    except typed_values.KeyMissingError:
        return entries or []
    if change is typed_values.NOTHING and entries is before:
        return entries or []
    written = field_sets.difference(change.written, SERVERS_OWN)
    return ordered(_capped(_gained(lost(entries or [], change), written, writer)))


def _compare(old: Document, new: Document, writer: FieldWriter) -> typed_values.Comparison:
    change = typed_values.compare(api_types.of(writer.resource), unmanaged(old), unmanaged(new))
    return change.excluding(writer.reset_fields)


def same_but_for_times(one: Document, other: Document) -> bool:
    """Return True if two documents are equal except for the `time` of managedFields entries."""
    mine, theirs = [item["metadata"].get("managedFields") or [] for item in (one, other)]
    return _by_identity(mine) == _by_identity(theirs) and unmanaged(one) == unmanaged(other)


def _by_identity(entries: list[Entry]) -> dict[Identity, Any]:
    return {identity(entry): entry.get("fieldsV1") for entry in entries}


def unmanaged(document: Document) -> Document:
    """Return the document without `metadata.managedFields`."""
    meta = document["metadata"]
    if "managedFields" not in meta:
        return document
    rest = {key: value for key, value in meta.items() if key != "managedFields"}
    return {**document, "metadata": rest}


@functools.cache
def nothing(resource: resources.ResourceType) -> Document:
    """Return the zero value of the resource's Go type, with which a new object is compared."""
    zero: Document = api_types.of(resource).zero()
    return zero


# ------------------------------------------------------------------ entries


def identity(entry: Entry) -> Identity:
    """Return the key of an entry: manager, operation, version, subresource.

    The version is empty for `Apply`: an applier has one entry for all versions.
    """
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return (entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def understood(entries: list[Entry]) -> bool:
    """Return True if the entries that a client sent are well-formed."""
    return all(
        entry.get("operation") in ("Apply", "Update")
        and entry.get("apiVersion")
        and entry.get("fieldsType") == "FieldsV1"
        for entry in entries
    )


def _chosen(before: list[Entry] | None, after: list[Entry]) -> list[Entry]:
    """Return the entries that the client sent, or the stored ones if these are malformed."""
    if not after or (len(after) == 1 and not any(after[0].values())):
        return []  # an empty list, or one empty entry, resets managedFields
    if not understood(after):
        return before or []
    return [{"fieldsV1": {}, **entry} for entry in after]


def lost(entries: Iterable[Entry], change: typed_values.Comparison) -> list[Entry]:
    """Return the entries without the changed fields; drop entries that own nothing any more."""
    remaining = []
    for entry in entries:
        fields = entry["fieldsV1"]
        left = field_sets.difference(field_sets.difference(fields, change.written), change.removed)
        if left:
            remaining.append(entry if left is fields else {**entry, "fieldsV1": left})
    return remaining


def _gained(entries: list[Entry], written: field_sets.Tree, writer: FieldWriter) -> list[Entry]:
    """Add the written fields to the writer's entry, which is appended if there is none yet."""
    if not written:
        return entries
    mine = writer.entry
    for index, entry in enumerate(entries):
        if identity(entry) == identity(mine):
            written = field_sets.union(entry["fieldsV1"], written)
            return [
                *entries[:index],
                {**mine, "fieldsV1": in_order(written)},
                *entries[index + 1 :],
            ]
    return [*entries, {**mine, "fieldsV1": in_order(written)}]


def in_order(fields: field_sets.Tree) -> dict[str, Any]:
    """Return a copy of a set of fields with all keys sorted."""
    if len(json_codec.encode(fields)) <= _SORTED_BY_MSGSPEC_BYTES_MAX:
        ordered_fields: dict[str, Any] = json_codec.decode(_sorting_encoder.encode(fields))
        return ordered_fields
    return {part: in_order(below) for part, below in sorted(fields.items())}


def ordered(entries: list[Entry]) -> list[Entry]:
    """Sort the entries as `metadata.managedFields` lists them: `Apply` first, then by `time`."""
    if len(entries) < 2:
        return entries
    return sorted(entries, key=_order)


def _order(entry: Entry) -> Identity:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def _capped(entries: list[Entry]) -> list[Entry]:
    """Merge the oldest `Update` entries if there are more than UPDATE_ENTRIES_MAX of them.

    After k8s.io/apimachinery/pkg/util/managedfields/internal/capmanagers.go.
    """
    updates = sorted([entry for entry in entries if entry["operation"] == "Update"], key=age)
    if len(updates) <= UPDATE_ENTRIES_MAX:
        return entries
    others = [entry for entry in entries if entry["operation"] != "Update"]
    return others + _bucketed(updates)


def age(entry: Entry) -> tuple[str, str]:
    """Return a sort key: the entry's `time`, then its identity."""
    return (entry.get("time") or "", _sorting_encoder.encode(identity(entry)).decode())


def _bucketed(updates: list[Entry]) -> list[Entry]:
    """Merge entries of one version, oldest first, until only UPDATE_ENTRIES_MAX are left."""
    remaining = list(updates)
    first: dict[str, Entry] = {}
    for entry in updates:
        if len(remaining) <= UPDATE_ENTRIES_MAX:
            break
        version = entry["apiVersion"]
        older = first.get(version)
        if older is None:
            first[version] = entry
            continue
        fields = in_order(field_sets.union(older["fieldsV1"], entry["fieldsV1"]))
        bucket = {**entry, "manager": _ANCIENT, "fieldsV1": fields}
        bucket.pop("subresource", None)
        remaining = [bucket if item is older else item for item in remaining if item is not entry]
        first[version] = bucket
    return remaining
