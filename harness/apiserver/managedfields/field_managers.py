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

from harness.apiserver import json_codec
from harness.apiserver.json_codec import Document
from harness.apiserver.managedfields import field_sets, typed_values
from harness.apiserver.scheme import api_types, resources

Entry = dict[str, Any]
Identity = tuple[str, ...]
_UNKNOWN = "unknown"
_TYPE_META = frozenset({"apiVersion", "kind"})
_OWN_METADATA = frozenset(
    {
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
        "resourceVersion",
    }
)  # fmt: skip
SERVERS_OWN = field_sets.of_paths(
    *_TYPE_META, "metadata", *(f"metadata.{name}" for name in _OWN_METADATA)
)
"""Fields that no manager ever owns."""
_PART_BYTES_MAX, _PARTS_MAX = 4_096, 4_096
"""Maximum size in JSON of a part of an object whose fields are cached, and number of parts."""
_sorting_encoder = msgspec.json.Encoder(order="sorted")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldWriter:
    """The manager, operation and time of one write."""

    resource: resources.ResourceType
    manager: str = ""
    subresource: str = ""
    operation: Literal["Apply", "Update"] = "Update"
    reset_fields: field_sets.Tree = dataclasses.field(default_factory=dict)
    """The fields that the endpoint ignores, so that no writer owns them."""
    now: str
    dry_run: bool = False
    """True if nothing is stored."""

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
    """Return the entries of a new object: its writer's."""
    try:
        written = _written_by_creation(document, writer)
    except typed_values.KeyMissingError:
        return []
    return [{**writer.entry, "fieldsV1": written}] if written else []


def _written_by_creation(document: Document, writer: FieldWriter) -> field_sets.Tree:
    """Return the fields that a create request sets, part by part so that each can be cached.

    Objects of one template differ in their names only, so most of their parts are in the cache.
    """
    kind, fields = api_types.of(writer.resource), {}
    for name in sorted(document.keys() & kind.fields.keys() - _TYPE_META):
        value = document[name]
        if name == "metadata":
            value = {key: item for key, item in value.items() if key not in _OWN_METADATA}
        if f"f:{name}" not in writer.reset_fields:
            data = json_codec.encode(value)
            find = _written_part if len(data) <= _PART_BYTES_MAX else _written_part.__wrapped__
            if (written := find(kind.fields[name], data)) is not None:
                fields[f"f:{name}"] = written
    return fields


@functools.lru_cache(_PARTS_MAX)
def _written_part(field: api_types.Field, data: bytes) -> field_sets.Tree | None:
    """Return the fields that one top-level field of a new object sets; None if it sets none."""
    before = field.zero() if field.always else typed_values.ABSENT
    written, _ = typed_values.change(field.type, before, json_codec.decode(data))
    return None if written is None else in_order(written)


def after_update(old: Document, new: Document, writer: FieldWriter) -> list[Entry]:
    """Return the entries of an object after an update: the writer's has the fields that changed.

    The entries that a client sends count, if they are well-formed, and else the stored ones; an
    empty list of them, or one empty entry, resets managedFields.
    """
    entries, sent = old["metadata"].get("managedFields"), new["metadata"].get("managedFields")
    if sent is not None and sent != entries and not writer.subresource:
        given = [{"fieldsV1": {}, **entry} for entry in sent if entry]
        known = ("Apply", "Update")
        if all(one.get("operation") in known and one.get("apiVersion") for one in given):
            entries = given
    if not entries and old is not nothing(writer.resource):
        return []  # an object without managedFields gets none until the first apply
    entries = entries or []
    try:
        kind = api_types.of(writer.resource)
        change = typed_values.compare(kind, unmanaged(old), unmanaged(new))
    except typed_values.KeyMissingError:
        return entries
    change = change.excluding(writer.reset_fields)
    if not (change.written or change.removed):
        return entries
    written = field_sets.difference(change.written, SERVERS_OWN)
    return ordered(_gained(lost(entries, change), written, writer))


def same_but_for_times(one: Document, other: Document) -> bool:
    """Return True if two documents are equal except for the `time` of managedFields entries."""
    mine, theirs = (
        {
            identity(entry): entry.get("fieldsV1")
            for entry in item["metadata"].get("managedFields") or ()
        }
        for item in (one, other)
    )
    return mine == theirs and unmanaged(one) == unmanaged(other)


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
    mine, others = writer.entry, []
    own = identity(mine)
    for entry in entries:
        if identity(entry) == own:
            written = field_sets.union(entry["fieldsV1"], written)
        else:
            others.append(entry)
    return [*others, {**mine, "fieldsV1": in_order(written)}]


def in_order(fields: field_sets.Tree) -> dict[str, Any]:
    """Return a copy of a set of fields with all keys sorted."""
    ordered_fields: dict[str, Any] = json_codec.decode(_sorting_encoder.encode(fields))
    return ordered_fields


def ordered(entries: list[Entry]) -> list[Entry]:
    """Sort the entries as `metadata.managedFields` lists them: `Apply` first, then by `time`."""
    return sorted(entries, key=_order) if len(entries) > 1 else entries


def _order(entry: Entry) -> Identity:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )
