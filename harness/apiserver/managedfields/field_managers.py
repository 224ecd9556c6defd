"""Field managers: who wrote which fields of an object, kept in metadata.managedFields.

An entry belongs to one manager doing one kind of operation (Update or Apply) through one version and subresource. Whoever writes a field has
it from then on; whoever else had it loses it, but for appliers of the same value, who share it. The fields of an entry are `field_sets`.
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
CLIENTS_ENTRIES_MAX = 200
"""Of entries that a client sends; a server makes no more than ten for updates and one for each applier."""
UPDATE_ENTRIES_MAX = 10
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
"""Fields that are nobody's."""
_sorting_encoder = msgspec.json.Encoder(order="sorted")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldWriter:
    """Who writes, how and when."""

    resource: resources.ResourceType
    manager: str
    subresource: str = ""
    operation: Literal["Apply", "Update"] = "Update"
    now: str

    @property
    def entry(self) -> Entry:
        """An entry of this writer, still without fields."""
        made = {
            "manager": self.manager or _UNKNOWN,
            "operation": self.operation,
            "apiVersion": self.resource.api_version,
            "time": self.now,
            "fieldsType": "FieldsV1",
            "fieldsV1": field_sets.LEAF,
        }
        return made | ({"subresource": self.subresource} if self.subresource else {})


def of_created(document: Document, writer: FieldWriter) -> list[Entry]:
    """The entries of a new object: those that came with it, and what its writer wrote."""
    if "managedFields" in document["metadata"]:
        return after_update(nothing(writer.resource), document, writer)
    try:
        written = _written_by_creation(document, writer.resource)
    except typed_values.KeyMissingError:
        return []
    return [{**writer.entry, "fieldsV1": written}] if written else []


def _written_by_creation(document: Document, resource: resources.ResourceType) -> field_sets.Tree:
    """As `_compare` with nothing; most parts of new objects were seen before, and are known by their bytes."""
    kind, before = api_types.of(resource), nothing(resource)
    ignored = reset_fields(resource, "")
    made = {}
    for name in sorted(document):
        field = kind.fields.get(name)
        if field is None or f"f:{name}" in ignored or name in _TYPE_META:
            continue
        written = _written_part(
            field.type, before.get(name, typed_values.ABSENT), document[name], name
        )
        if written is not None:
            made[f"f:{name}"] = written
    return made


_TYPE_META = frozenset({"apiVersion", "kind"})
_PART_BYTES_MAX = 4_096
_PARTS_MAX = 4_096
_parts: dict[tuple[api_types.Type, bytes], field_sets.Tree | None] = {}


def _written_part(
    kind: api_types.Type, before: Any, value: Any, name: str
) -> field_sets.Tree | None:
    """What a new object writes in one of its fields; every new object has another name, but few have another spec."""
    if name == "metadata":
        value = {key: item for key, item in value.items() if key not in _OWN_METADATA}
    key = (kind, json_codec.encode(value))
    found = _parts.get(key, _parts)
    if found is not _parts:
        return found  # type: ignore[return-value]  # the dict itself stands for "not there"
    change = typed_values.compare_part(kind, before, value)
    if change is not None:
        change = in_order(change)
    if len(key[1]) <= _PART_BYTES_MAX:
        if len(_parts) >= _PARTS_MAX:
            _parts.clear()
        _parts[key] = change
    return change


def after_update(old: Document, new: Document, writer: FieldWriter) -> list[Entry]:
    """The entries after an object was replaced; what the new document says about them counts when it can be understood."""
    before = old["metadata"].get("managedFields")
    after = None if writer.subresource else new["metadata"].get("managedFields")
    entries = before if after is None or after == before else _chosen(before, after)
    if not entries and old is not nothing(writer.resource):
        return []  # nobody is remembered: nor is this writer, until somebody applies something
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
    return change.excluding(reset_fields(writer.resource, writer.subresource))


def same_but_for_times(one: Document, other: Document) -> bool:
    """Whether two documents differ in the times of their entries at most: nobody has changed anything then."""
    mine, theirs = [item["metadata"].get("managedFields") or [] for item in (one, other)]
    return _by_identity(mine) == _by_identity(theirs) and unmanaged(one) == unmanaged(other)


def _by_identity(entries: list[Entry]) -> dict[Identity, Any]:
    return {identity(entry): entry.get("fieldsV1") for entry in entries}


def unmanaged(document: Document) -> Document:
    """The document without its managed fields."""
    meta = document["metadata"]
    if "managedFields" not in meta:
        return document
    rest = {key: value for key, value in meta.items() if key != "managedFields"}
    return {**document, "metadata": rest}


@functools.cache
def nothing(resource: resources.ResourceType) -> Document:
    """The object that a new one is compared with: what Go has before anything is set."""
    zero: Document = api_types.of(resource).zero()
    return zero


# ------------------------------------------------------------------ entries


def identity(entry: Entry) -> Identity:
    """What makes two entries the same one; an applier is the same one in every version."""
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return (entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def understood(entries: list[Entry]) -> bool:
    """Whether entries from a client say what they must."""
    return all(
        entry.get("operation") in ("Apply", "Update")
        and entry.get("apiVersion")
        and entry.get("fieldsType") == "FieldsV1"
        for entry in entries
    )


def _chosen(before: list[Entry] | None, after: list[Entry]) -> list[Entry]:
    if not after or (len(after) == 1 and not any(after[0].values())):
        return []  # a client wants them to be forgotten
    if len(after) > CLIENTS_ENTRIES_MAX or not understood(after):
        return before or []
    return [{"fieldsV1": {}, **entry} for entry in after]


def lost(entries: Iterable[Entry], change: typed_values.Comparison) -> list[Entry]:
    """The entries without what was written or removed; those that are left with nothing vanish."""
    kept = []
    for entry in entries:
        fields = entry["fieldsV1"]
        left = field_sets.difference(field_sets.difference(fields, change.written), change.removed)
        if left:
            kept.append(entry if left is fields else {**entry, "fieldsV1": left})
    return kept


def _gained(entries: list[Entry], written: field_sets.Tree, writer: FieldWriter) -> list[Entry]:
    """The entries with what the writer wrote."""
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


def in_order(fields: field_sets.Tree) -> Any:
    """A set of fields with its paths in their order."""
    return json_codec.decode(_sorting_encoder.encode(fields))


def ordered(entries: list[Entry]) -> list[Entry]:
    """The entries as they are shown: appliers first, then by time."""
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
    """The entries with the oldest updates put together when there are too many of them."""
    updates = sorted([entry for entry in entries if entry["operation"] == "Update"], key=age)
    if len(updates) <= UPDATE_ENTRIES_MAX:
        return entries
    others = [entry for entry in entries if entry["operation"] != "Update"]
    return others + _bucketed(updates)


def age(entry: Entry) -> tuple[str, str]:
    """Sorts entries by their time, then by what they are."""
    return (entry.get("time") or "", _sorting_encoder.encode(identity(entry)).decode())


def _bucketed(updates: list[Entry]) -> list[Entry]:
    kept = list(updates)
    first: dict[str, Entry] = {}
    for entry in updates:
        if len(kept) <= UPDATE_ENTRIES_MAX:
            break
        version = entry["apiVersion"]
        older = first.get(version)
        if older is None:
            first[version] = entry
            continue
        fields = in_order(field_sets.union(older["fieldsV1"], entry["fieldsV1"]))
        bucket = {**_without_subresource(entry), "manager": _ANCIENT, "fieldsV1": fields}
        kept = [bucket if item is older else item for item in kept if item is not entry]
        first[version] = bucket
    return kept


def _without_subresource(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if key != "subresource"}


# ------------------------------------------------------------------ what an endpoint resets


@functools.cache
def reset_fields(resource: resources.ResourceType, subresource: str) -> field_sets.Tree:
    """The fields that an endpoint does not write whatever it is sent."""
    if subresource == "status":
        return field_sets.of_paths("spec", *_RESET_BY_STATUS.get(resource.plural, ()))
    return field_sets.of_paths("status") if resource.has_status else {}


_RESET_BY_STATUS = {
    "pods": ("metadata.deletionTimestamp", "metadata.ownerReferences"),
    "resourceclaims": ("metadata",),
    "deployments": ("metadata.labels",),
}
