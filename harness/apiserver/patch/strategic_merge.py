"""Strategic merge patch: a JSON merge patch that merges some lists by key, with directives.

    $patch: replace | delete              replace or delete an object, or an item of a merged list
    $retainKeys: [...]                    remove all other fields of the object
    $deleteFromPrimitiveList/NAME: [...]  remove values from a list of scalars
    $setElementOrder/NAME: [...]          the order of the items that the client knows

In a merged list, items of the patch come in the order of the patch, or in that of
`$setElementOrder`. Other items keep their order, and their position relative to the items that
were in the list before; new items precede them. After
k8s.io/apimachinery/pkg/util/strategicpatch/patch.go.
"""

import collections
from collections.abc import Callable
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types

Identity = Callable[[Any], Any]
"""Returns the hashable merge key of a list's item."""
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_DELETED = object()


def patch(kind: api_types.Type, document: Document, change: Document) -> Document:
    """Return the patched document; the input is not changed. Raises 500 if the patch is invalid."""
    return _object(kind, document, change)


def _object(kind: api_types.Type, old: Any, change: Document) -> Document:
    match change.get("$patch"):
        case None:
            pass
        case "replace":
            return {name: value for name, value in change.items() if name != "$patch"}
        case "delete":
            return {}
        case other:
            raise _broken(f"unknown patch type: {other}")
    merged = dict(old) if isinstance(old, dict) else {}
    if isinstance(names := change.get("$retainKeys"), list):
        retained = {name for name in names if isinstance(name, str)}
        merged = {name: value for name, value in merged.items() if name in retained}
    for name in _field_names(change):
        _merge_field(kind, merged, name, change)
    return merged


def _field_names(change: Document) -> list[str]:
    names = [
        name.partition("/")[2] if name.startswith((_DELETE_FROM, _ORDER)) else name
        for name in change
    ]
    return [name for name in dict.fromkeys(names) if not name.startswith("$")]


def _merge_field(kind: api_types.Type, merged: Document, name: str, change: Document) -> None:
    field = kind.fields.get(name)
    value, old = change.get(name), merged.get(name)
    if name in change and value is None:
        merged.pop(name, None)
    elif isinstance(value, dict):
        merged[name] = _object(field.type if field else _item_type(kind), old, value)
    elif field is not None and _is_merged_list(field) and isinstance(value, list | None):
        if name in change or old:
            merged[name] = _list(field, old, name, change)
    elif name in change:
        merged[name] = value


def _is_merged_list(field: api_types.Field) -> bool:
    return field.type.kind == "list" and "merge" in field.patch_strategies


def _item_type(kind: api_types.Type) -> api_types.Type:
    return kind.item or _ANY


_ANY = api_types.Type(kind="any")


# ------------------------------------------------------------------ lists


def _list(field: api_types.Field, old: Any, name: str, change: Document) -> list[Any]:
    if old is None and _ORDER + name not in change:
        return _new_list(field, change.get(name) or [])
    before = old if isinstance(old, list) else []
    patched = change.get(name) or []
    identity = _identity(field)
    order = change.get(_ORDER + name)
    if order is not None:
        _require_order(identity, [item for item in patched if not _directive(item)], order)
    if any(_directive(item) == "replace" for item in patched):
        return [item for item in patched if _directive(item) != "replace"]
    remaining = _without(before, change.get(_DELETE_FROM + name))
    merged = _merged(field, remaining, patched, identity)
    if order is None:
        order = [item for item in patched if _directive(item) != "delete"]
    return _ordered(merged, before, order, identity)


def _new_list(field: api_types.Field, items: list[Any]) -> list[Any]:
    """Return the items for a list that did not exist; they need no merge keys."""
    return [
        _object(_item_type(field.type), {}, item) if isinstance(item, dict) else item
        for item in items
        if not _directive(item)
    ]


def _without(items: list[Any], deleted: Any) -> list[Any]:
    if not isinstance(deleted, list):
        return items
    keys = set(map(_hashable, deleted))
    return [item for item in items if _hashable(item) not in keys]


def _hashable(value: Any) -> Any:
    return json_codec.encode(value) if isinstance(value, dict | list) else value


def _identity(field: api_types.Field) -> Identity:
    key = field.patch_key
    if not key:
        return _hashable

    def of(item: Any) -> Any:
        if not isinstance(item, dict) or key not in item:
            raise _broken(f"an item of the patch does not have its merge key: {key}")
        return _hashable(item[key])

    return of


def _merged(
    field: api_types.Field, before: list[Any], patched: list[Any], identity: Identity
) -> list[Any]:
    merged = list(before)
    positions: dict[Any, collections.deque[int]] = collections.defaultdict(collections.deque)
    for position, item in enumerate(before):
        positions[identity(item)].append(position)
    for item in patched:
        same_key = positions[identity(item)]
        if _directive(item) == "delete":
            if same_key:
                merged[same_key.popleft()] = _DELETED
        elif not same_key:
            same_key.append(len(merged))
            is_object = isinstance(item, dict)
            merged.append(_object(_item_type(field.type), {}, item) if is_object else item)
        elif isinstance(item, dict):
            first = same_key[0]
            merged[first] = _object(_item_type(field.type), merged[first], item)
    return [item for item in merged if item is not _DELETED]


def _directive(item: Any) -> str:
    return str(item.get("$patch", "")) if isinstance(item, dict) else ""


def _require_order(identity: Identity, items: list[Any], order: list[Any]) -> None:
    """Raise 500 unless the items of a patch are a subsequence of its `$setElementOrder`."""
    ordered_keys = [identity(item) for item in order]
    keys = [identity(item) for item in items]
    rest = iter(ordered_keys)
    if not all(key in rest for key in keys):
        raise _broken("the order in the patch does not match its $setElementOrder")


def _ordered(
    merged: list[Any], before: list[Any], order: list[Any], identity: Identity
) -> list[Any]:
    """Sort a merged list: items in `order` by it, others by their position in `before`."""
    order_positions = _positions(order, identity)
    positions_before = _positions(before, identity)
    known = [item for item in merged if identity(item) in order_positions]
    known.sort(key=lambda item: order_positions[identity(item)])
    listed = collections.deque(known)
    others = collections.deque(item for item in merged if identity(item) not in order_positions)
    result = []
    while listed and others:
        other, next_listed = identity(others[0]), identity(listed[0])
        is_other_first = (
            next_listed in positions_before
            and positions_before[other] < positions_before[next_listed]
        )
        result.append((others if is_other_first else listed).popleft())
    return [*result, *listed, *others]


def _positions(items: list[Any], identity: Identity) -> dict[Any, int]:
    """Return the first position of each merge key."""
    return {identity(items[index]): index for index in reversed(range(len(items)))}


# ------------------------------------------------------------------ messages


def _broken(message: str) -> status_errors.StatusError:
    return status_errors.StatusError(500, "", message)
