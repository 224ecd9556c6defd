"""Strategic merge patches: JSON merge patches that know which lists merge by a key, with directives of their own.

    $patch: replace | delete              of an object, or of an item of a list that merges
    $retainKeys: [...]                    all other fields of the object go
    $deleteFromPrimitiveList/NAME: [...]  values that leave a list of plain values
    $setElementOrder/NAME: [...]          the order of what the writer knows of a list

What the patch names comes in its order, or in that of $setElementOrder; what it does not name keeps its order and its place among the items
that were there before; new items come before it.
"""

import collections
from collections.abc import Callable
from typing import Any

from harness.apiserver.codec import go_fmt, json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document

Identity = Callable[[Any], Any]
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_GONE = object()


def patch(kind: api_types.Type, document: Document, change: Document) -> Document:
    """The patched document; the input is not changed."""
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
            raise _broken(f"unknown patch type: {other} in map: {go_fmt.plain(change)}")
    made = dict(old) if isinstance(old, dict) else {}
    _retain(made, change)
    for name in _named(change):
        _field(kind, made, name, change)
    return made


def _retain(made: Document, change: Document) -> None:
    names = change.get("$retainKeys")
    if not isinstance(names, list):
        return
    kept = {name for name in names if isinstance(name, str)}
    for name in [name for name in made if name not in kept]:
        del made[name]


def _named(change: Document) -> list[str]:
    """The fields that a patch is about, by their values or by directives."""
    names = [
        name.partition("/")[2] if name.startswith((_DELETE_FROM, _ORDER)) else name
        for name in change
    ]
    return [name for name in dict.fromkeys(names) if not name.startswith("$")]


def _field(kind: api_types.Type, made: Document, name: str, change: Document) -> None:
    field = kind.fields.get(name)
    value, old = change.get(name), made.get(name)
    if name in change and value is None:
        made.pop(name, None)
    elif isinstance(value, dict):
        made[name] = _object(field.type if field else _below(kind), old, value)
    elif field is not None and _merges(field) and isinstance(value, list | None):
        if name in change or old:
            made[name] = _list(field, old, name, change)
    elif name in change:
        made[name] = value


def _merges(field: api_types.Field) -> bool:
    return field.type.kind == "list" and "merge" in field.patch_strategies


def _below(kind: api_types.Type) -> api_types.Type:
    return kind.item or _ANY


_ANY = api_types.Type(kind="any")


# ------------------------------------------------------------------ lists


def _list(field: api_types.Field, old: Any, name: str, change: Document) -> list[Any]:
    if old is None and _ORDER + name not in change:
        return _new(field, change.get(name) or [])
    before = old if isinstance(old, list) else []
    wanted = change.get(name) or []
    identity = _identity(field)
    order = change.get(_ORDER + name)
    if order is not None:
        _require_order(identity, [item for item in wanted if not _directive(item)], order)
    if any(_directive(item) == "replace" for item in wanted):
        return [item for item in wanted if _directive(item) != "replace"]
    merged = _merged(field, _without(before, change.get(_DELETE_FROM + name)), wanted, identity)
    kept = [item for item in wanted if _directive(item) != "delete"]
    return _ordered(merged, before, kept if order is None else order, identity)


def _new(field: api_types.Field, wanted: list[Any]) -> list[Any]:
    """A list that was not there is taken as it is: nobody asks for the keys of its items."""
    return [
        _object(_below(field.type), {}, item) if isinstance(item, dict) else item
        for item in wanted
        if not _directive(item)
    ]


def _without(items: list[Any], gone: Any) -> list[Any]:
    if not isinstance(gone, list):
        return items
    keys = set(map(_hashable, gone))
    return [item for item in items if _hashable(item) not in keys]


def _hashable(value: Any) -> Any:
    """Return something that can be looked up, and is equal for equal values."""
    return json_codec.encode(value) if isinstance(value, dict | list) else value


def _identity(field: api_types.Field) -> Identity:
    key = field.patch_key
    if not key:
        return _hashable

    def of(item: Any) -> Any:
        if not isinstance(item, dict) or key not in item:
            raise _broken(f"map: {go_fmt.plain(item)} does not contain declared merge key: {key}")
        return _hashable(item[key])

    return of


def _merged(
    field: api_types.Field, before: list[Any], wanted: list[Any], identity: Identity
) -> list[Any]:
    """The items before with those of the patch merged into them, new ones at the end."""
    made = list(before)
    places: dict[Any, collections.deque[int]] = collections.defaultdict(collections.deque)
    for at, item in enumerate(before):
        places[identity(item)].append(at)
    for item in wanted:
        found = places[identity(item)]
        if _directive(item) == "delete":
            if found:
                made[found.popleft()] = _GONE
        elif not found:
            found.append(len(made))
            is_object = isinstance(item, dict)
            made.append(_object(_below(field.type), {}, item) if is_object else item)
        elif isinstance(item, dict):
            made[found[0]] = _object(_below(field.type), made[found[0]], item)
    return [item for item in made if item is not _GONE]


def _directive(item: Any) -> str:
    return str(item.get("$patch", "")) if isinstance(item, dict) else ""


def _require_order(identity: Identity, items: list[Any], order: list[Any]) -> None:
    """What a patch lists must be in the order that it sets."""
    places = [identity(item) for item in order]
    found = [identity(item) for item in items]
    rest = iter(places)
    if not all(item in rest for item in found):
        raise _broken(
            f"The order in patch list:\n{go_fmt.plain(items)}\n doesn't match $setElementOrder list:\n{go_fmt.plain(order)}\n"
        )


def _ordered(
    merged: list[Any], before: list[Any], order: list[Any], identity: Identity
) -> list[Any]:
    places, server = _places(order, identity), _places(before, identity)
    known = [item for item in merged if identity(item) in places]
    known.sort(key=lambda item: places[identity(item)])
    first = collections.deque(known)
    others = collections.deque(item for item in merged if identity(item) not in places)
    made = []
    while first and others:
        other, wanted = identity(others[0]), identity(first[0])
        is_before = wanted in server and server[other] < server[wanted]
        made.append((others if is_before else first).popleft())
    return [*made, *first, *others]


def _places(items: list[Any], identity: Identity) -> dict[Any, int]:
    """Where each item is first."""
    return {identity(items[at]): at for at in reversed(range(len(items)))}


# ------------------------------------------------------------------ messages


def _broken(message: str) -> status_errors.StatusError:
    return status_errors.StatusError(500, "", message)
