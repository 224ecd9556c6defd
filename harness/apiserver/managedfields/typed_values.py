"""Fields, differences and merges of documents according to their types.

An atomic value is one field; a `map` list is compared item by item, a `set` list value by value.
Sets of fields are trees in the form of `field_sets`. Documents are never changed in place.

After sigs.k8s.io/structured-merge-diff/typed.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.managedfields import field_sets
from harness.apiserver.scheme import api_types

Tree = field_sets.Tree
ABSENT: Any = object()
"""The value of a missing field, as distinct from null."""
_KEY_DEFAULTS = {"protocol": "TCP"}
"""Defaults of list-map keys that may be left out: the ports of containers and services."""


class KeyMissingError(ValueError):
    """An item of a list map has none of its keys."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """The fields in which a new document differs from an old one."""

    written: Tree
    """Fields that were added or have a new value."""
    removed: Tree
    """Fields that the new document does not have."""

    def excluding(self, ignored: Tree) -> "Comparison":
        """Return the comparison without some fields and everything below them."""
        return Comparison(
            field_sets.without(self.written, ignored), field_sets.without(self.removed, ignored)
        )


# ------------------------------------------------------------------ the fields of a value


def fields_of(kind: api_types.Type, value: Any) -> Tree:
    return _fields(kind, value) or field_sets.LEAF


def _fields(kind: api_types.Type, value: Any) -> Tree | None:
    """Return the fields below a value; None for an empty or null list, map or object."""
    if is_leaf(kind):
        return field_sets.LEAF
    if not value:
        return None
    if kind.kind == "list":
        return {
            part: field_sets.node(_fields(kind.item_type, item) or {}, member=True)
            for part, item in items(kind, value)
        }
    return _fields_of_object(kind, value)


def _fields_of_object(kind: api_types.Type, value: dict[str, Any]) -> Tree:
    fields: dict[str, Tree] = {}
    for name, child in value.items():
        child_kind = field_type(kind, name)
        below = _fields(child_kind, child)
        member = child is None or child == {} or kind.kind == "map" or is_leaf(child_kind)
        node = field_sets.node(below or {}, member=member)
        if node is not None:
            fields[f"f:{name}"] = node
    return fields


# ------------------------------------------------------------------ comparing


def compare(kind: api_types.Type, old: Any, new: Any) -> Comparison:
    """Return the fields that change from the old document to the new one."""
    if old == new:
        return Comparison({}, {})
    written, removed = change(kind, old, new)
    return Comparison(written or {}, removed or {})


Change = tuple[Tree | None, Tree | None]


def change(kind: api_types.Type, old: Any, new: Any) -> Change:
    """Return the written and the removed fields, None for no field. Both values may be ABSENT."""
    if is_leaf(kind) or not (old or new):  # ABSENT is truthy: both are null or empty
        if new is ABSENT:
            return None, field_sets.LEAF
        return (None if old == new else field_sets.LEAF), None
    written: dict[str, Tree] = {}
    removed: dict[str, Tree] = {}
    for part, child_kind, before, after in _pairs(kind, old, new):
        put, gone = change(child_kind, before, after)
        if put is not None:
            written[part] = put
        if gone is not None:
            removed[part] = gone
    return (
        field_sets.node(written, member=old is ABSENT),
        field_sets.node(removed, member=new is ABSENT),
    )


Pair = tuple[str, api_types.Type, Any, Any]


def _pairs(kind: api_types.Type, old: Any, new: Any) -> Iterator[Pair]:
    """Yield the parts in which two values may differ: step, type, old value, new value."""
    before: Any = old if old and old is not ABSENT else ()
    after: Any = new if new and new is not ABSENT else ()
    if kind.kind == "list":
        return _item_pairs(kind, before, after)
    return _field_pairs(kind, before or {}, after or {})


def _field_pairs(kind: api_types.Type, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Pair]:
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before is ABSENT and after == []:
            continue  # Go's `omitempty` leaves it out
        if before is ABSENT or before != after:
            yield f"f:{name}", field_type(kind, name), before, after
    for name in old.keys() - new.keys():
        yield f"f:{name}", field_type(kind, name), old[name], ABSENT


def _item_pairs(kind: api_types.Type, old: list[Any], new: list[Any]) -> Iterator[Pair]:
    before, after = dict(items(kind, old)), dict(items(kind, new))
    for part in before | after:
        ours, theirs = before.get(part, ABSENT), after.get(part, ABSENT)
        if ours is ABSENT or theirs is ABSENT or ours != theirs:
            yield part, kind.item_type, ours, theirs


# ------------------------------------------------------------------ merging


def merge(kind: api_types.Type, live: Any, applied: Any) -> Any:
    """Return the live value with the applied value merged into it."""
    if is_leaf(kind) or not live:
        return applied
    if not applied:
        return live
    if kind.kind == "list":
        return _merge_items(kind, live, applied)
    merged = dict(live)
    for name, value in applied.items():
        known = name in merged
        merged[name] = merge(field_type(kind, name), merged[name], value) if known else value
    return merged


def _merge_items(kind: api_types.Type, live: list[Any], applied: list[Any]) -> list[Any]:
    """Merge two lists: applied items in their order, live-only items at their places among them."""
    ours, theirs = dict(items(kind, live)), dict(items(kind, applied))
    merged = {
        part: merge(kind.item_type, ours[part], value) if part in ours else value
        for part, value in theirs.items()
    }
    result = []
    waiting = list(theirs)
    for part, value in ours.items():
        if part not in theirs:
            result.append(value)
        elif part in waiting:
            upto = waiting.index(part) + 1
            result += [merged[other] for other in waiting[:upto]]
            del waiting[:upto]
    return result + [merged[other] for other in waiting]


# ------------------------------------------------------------------ removing


def remove(kind: api_types.Type, value: Any, unwanted: Tree) -> Any:
    """Return the value without some of its fields; None if nothing of an object or list is left."""
    if not unwanted or is_leaf(kind):
        return value
    if not value:
        return None
    if kind.kind == "list":
        return _remove_items(kind, value, unwanted)
    remaining = {}
    for name, child in value.items():
        below = unwanted.get(f"f:{name}")
        if below is None:
            remaining[name] = child
        elif not field_sets.is_member(below):
            remaining[name] = remove(field_type(kind, name), child, below)
    return remaining or None


def _remove_items(kind: api_types.Type, values: list[Any], unwanted: Tree) -> list[Any] | None:
    remaining = []
    for part, item in items(kind, values):
        below = unwanted.get(part)
        if below is None:
            remaining.append(item)
        elif not field_sets.is_member(below):
            remaining.append(remove(kind.item_type, item, below))
    return remaining or None


def with_parents(kind: api_types.Type, tree: Tree) -> Tree:
    """Return the set with each declared field that has members below it added.

    `EnsureNamedFieldsAreMembers` in sigs.k8s.io/structured-merge-diff/fieldpath/set.go.
    """
    return {
        part: _with_parents(kind, part, below)
        for part, below in tree.items()
        if part != field_sets.SELF
    }


def _with_parents(kind: api_types.Type, part: str, below: Tree) -> Tree:
    if not below:
        return below
    name = part[2:]
    named = part.startswith("f:") and name in kind.fields
    child = field_type(kind, name) if part.startswith("f:") else kind.item_type
    member = named or field_sets.is_member(below)
    return field_sets.node(with_parents(child, below), member=member) or field_sets.LEAF


# ------------------------------------------------------------------ types


@functools.cache
def is_leaf(kind: api_types.Type) -> bool:
    """Return True if a value of this type is one field: a scalar, or an atomic list or object."""
    return kind.kind not in ("object", "list", "map") or kind.merges == "atomic"


def field_type(kind: api_types.Type, name: str) -> api_types.Type:
    """Return the type of an object's field or of a map's value; `any` for an unknown field."""
    if kind.kind == "map":
        return kind.item_type
    field = kind.fields.get(name)
    return field.type if field is not None else api_types.ANY


def items(kind: api_types.Type, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield (path step, item) for each item of a `map` or `set` list.

    Raises KeyMissingError for an item of a `map` list that has none of the keys.
    """
    if kind.merges == "set":
        for value in values:
            yield f"v:{json_codec.encode(value).decode()}", value
        return
    for value in values:
        yield _key_step(kind.keys, value), value


def _key_step(keys: tuple[str, ...], value: Any) -> str:
    if len(keys) == 1 and type(name := value.get(keys[0])) is str:  # most lists; saves two dicts
        return f'k:{{"{keys[0]}":{json_codec.encode(name).decode()}}}'
    given = {**_KEY_DEFAULTS, **value}
    present = {key: given[key] for key in sorted(keys) if key in given}
    if not present:
        names = " ".join(json_codec.encode(key).decode() for key in keys)
        raise KeyMissingError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{json_codec.encode(present).decode()}"
