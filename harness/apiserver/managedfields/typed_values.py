"""Documents as values of their types: which fields they set, in which they differ, how two of them merge.

These are the rules of Kubernetes' structured merge: an atomic value is one field, a list map is compared item by item, a set value by value.
The sets of fields come in the form of `field_sets`. Documents are never changed.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from harness.apiserver.codec import json_codec
from harness.apiserver.managedfields import field_sets
from harness.apiserver.scheme import api_types

Tree = field_sets.Tree
ABSENT: Any = object()
"""What a document says of a field that it does not have; null is another thing."""
_UNKNOWN = api_types.Type(kind="any")
"""Of fields that the types do not have; decoding leaves none, but not everything was decoded."""
_KEY_DEFAULTS = {"protocol": "TCP"}
"""Keys of list maps that may be left out, and what they are then (the ports of containers and services)."""


class KeyMissingError(ValueError):
    """An item of a list map has none of its keys; the message says so."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """In which fields one document differs from another."""

    written: Tree
    """Fields that were added or have another value."""
    removed: Tree

    def excluding(self, ignored: Tree) -> "Comparison":
        """Without some fields and all that is below them."""
        return Comparison(
            field_sets.without(self.written, ignored), field_sets.without(self.removed, ignored)
        )


NOTHING = Comparison({}, {})

# ------------------------------------------------------------------ the fields of a value


def fields_of(kind: api_types.Type, value: Any) -> Tree:
    """The fields that a document sets."""
    found = _fields(kind, value)
    return field_sets.LEAF if found is None else found


def _fields(kind: api_types.Type, value: Any) -> Tree | None:
    """None for a value that sets nothing by itself: a null or empty list of single items, an empty object."""
    if is_leaf(kind):
        return field_sets.LEAF
    if not value:
        return None
    if kind.kind == "list":
        return {
            part: field_sets.node(_fields(item_type(kind), item) or {}, member=True)
            for part, item in items(kind, value)
        }
    return _fields_of_object(kind, value)


def _fields_of_object(kind: api_types.Type, value: dict[str, Any]) -> Tree:
    made: dict[str, Tree] = {}
    for name, child in value.items():
        child_kind = field_type(kind, name)
        below = _fields(child_kind, child)
        alone = child is None or child == {} or kind.kind == "map"
        found = field_sets.node(below or {}, member=alone or is_leaf(child_kind))
        if found is not None:
            made[f"f:{name}"] = found
    return made


# ------------------------------------------------------------------ comparing


def compare(kind: api_types.Type, old: Any, new: Any) -> Comparison:
    """What changed from the old document to the new one."""
    if old == new:
        return NOTHING
    written, removed = _compare(kind, old, new)
    return Comparison(written or {}, removed or {})


def compare_part(kind: api_types.Type, old: Any, new: Any) -> Tree | None:
    """What is written in one field of an object, of whose old value there may be none; None when nothing is."""
    return _compare(kind, old, new)[0]


Change = tuple[Tree | None, Tree | None]
_SAME: Change = (None, None)


def _compare(kind: api_types.Type, old: Any, new: Any) -> Change:
    """What is written and what is removed; either may be absent."""
    if is_leaf(kind) or not (old or new):  # an absent value is true: two empty forms are left
        return _compare_leaf(old, new)
    written: dict[str, Tree] = {}
    removed: dict[str, Tree] = {}
    for part, child_kind, before, after in _pairs(kind, old, new):
        put, gone = _compare(child_kind, before, after)
        if put is not None:
            written[part] = put
        if gone is not None:
            removed[part] = gone
    return (
        field_sets.node(written, member=old is ABSENT),
        field_sets.node(removed, member=new is ABSENT),
    )


def _compare_leaf(old: Any, new: Any) -> Change:
    if new is ABSENT:
        return None, field_sets.LEAF
    return (None if old == new else field_sets.LEAF), None


Pair = tuple[str, api_types.Type, Any, Any]


def _pairs(kind: api_types.Type, old: Any, new: Any) -> Iterator[Pair]:
    """The parts in which two values may differ."""
    before: Any = old if old and old is not ABSENT else ()
    after: Any = new if new and new is not ABSENT else ()
    if kind.kind == "list":
        return _item_pairs(kind, before, after)
    return _field_pairs(kind, before or {}, after or {})


def _field_pairs(kind: api_types.Type, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Pair]:
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before is ABSENT and after == []:
            continue  # Go does not write it
        if before is ABSENT or before != after:
            yield f"f:{name}", field_type(kind, name), before, after
    for name in old.keys() - new.keys():
        yield f"f:{name}", field_type(kind, name), old[name], ABSENT


def _item_pairs(kind: api_types.Type, old: list[Any], new: list[Any]) -> Iterator[Pair]:
    before, after = _grouped(kind, old), _grouped(kind, new)
    for part in before | after:
        ours, theirs = before.get(part, ABSENT), after.get(part, ABSENT)
        if ours is ABSENT or theirs is ABSENT or ours != theirs:
            yield part, item_type(kind), ours, theirs


def _grouped(kind: api_types.Type, values: list[Any]) -> dict[str, Any]:
    return dict(items(kind, values))


# ------------------------------------------------------------------ merging


def merge(kind: api_types.Type, live: Any, applied: Any) -> Any:
    """The live value with the applied one laid over it."""
    if is_leaf(kind) or not live:
        return applied
    if not applied:
        return live
    if kind.kind == "list":
        return _merge_items(kind, live, applied)
    made = dict(live)
    for name, value in applied.items():
        known = name in made
        made[name] = merge(field_type(kind, name), made[name], value) if known else value
    return made


def _merge_items(kind: api_types.Type, live: list[Any], applied: list[Any]) -> list[Any]:
    """Both lists' items; those of both come in the applied order, the others stay where they are among them."""
    ours, theirs = dict(items(kind, live)), dict(items(kind, applied))
    made = []
    waiting = list(theirs)
    for part, value in ours.items():
        if part not in theirs:
            made.append(value)
        elif part in waiting:
            upto = waiting.index(part) + 1
            made += [_merged(kind, ours, theirs, other) for other in waiting[:upto]]
            del waiting[:upto]
    return made + [_merged(kind, ours, theirs, other) for other in waiting]


def _merged(kind: api_types.Type, ours: dict[str, Any], theirs: dict[str, Any], part: str) -> Any:
    if part not in ours:
        return theirs[part]
    return merge(item_type(kind), ours[part], theirs[part])


# ------------------------------------------------------------------ removing


def remove(kind: api_types.Type, value: Any, unwanted: Tree) -> Any:
    """The value without some of its fields; None for an object or a list of which nothing is left."""
    if not unwanted or is_leaf(kind):
        return value
    if not value:
        return None
    if kind.kind == "list":
        return _remove_items(kind, value, unwanted)
    made = {}
    for name, child in value.items():
        below = unwanted.get(f"f:{name}")
        if below is None:
            made[name] = child
        elif not field_sets.is_member(below):
            made[name] = remove(field_type(kind, name), child, below)
    return made or None


def _remove_items(kind: api_types.Type, values: list[Any], unwanted: Tree) -> list[Any] | None:
    made = []
    for part, item in items(kind, values):
        below = unwanted.get(part)
        if below is None:
            made.append(item)
        elif not field_sets.is_member(below):
            made.append(remove(item_type(kind), item, below))
    return made or None


def with_parents(kind: api_types.Type, tree: Tree) -> Tree:
    """The set with those fields of objects as well that have members below them."""
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
    child = field_type(kind, name) if part.startswith("f:") else item_type(kind)
    member = named or field_sets.is_member(below)
    return field_sets.node(with_parents(child, below), member=member) or field_sets.LEAF


# ------------------------------------------------------------------ types


@functools.cache
def is_leaf(kind: api_types.Type) -> bool:
    """Whether a value of this type is one field: a scalar, or something atomic."""
    return kind.kind not in ("object", "list", "map") or kind.merges == "atomic"


def field_type(kind: api_types.Type, name: str) -> api_types.Type:
    """The type of a field of an object or of a value of a map; what no type has is one value."""
    if kind.kind == "map":
        return item_type(kind)
    field = kind.fields.get(name)
    return field.type if field is not None else _UNKNOWN


def items(kind: api_types.Type, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """The items of a list map or a set with their steps in a path."""
    if kind.merges == "set":
        for value in values:
            yield f"v:{json_codec.encode(value).decode()}", value
        return
    for value in values:
        yield _key_step(kind.keys, value), value


def _key_step(keys: tuple[str, ...], value: Any) -> str:
    given = {**_KEY_DEFAULTS, **value}
    found = {key: given[key] for key in sorted(keys) if key in given}
    if not found:
        names = " ".join(json_codec.encode(key).decode() for key in keys)
        raise KeyMissingError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{json_codec.encode(found).decode()}"


def item_type(kind: api_types.Type) -> api_types.Type:
    """The type of the items of a list or of the values of a map."""
    if kind.item is None:
        raise TypeError(f"expected a {kind.kind} with items")
    return kind.item
