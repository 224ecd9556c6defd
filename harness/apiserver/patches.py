"""Patches: JSON patch (RFC 6902), merge patch (RFC 7386), and strategic merge patch.

A strategic merge patch is a merge patch that merges some lists by key, with directives:

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
from harness.apiserver.scheme import api_types, resources

OPERATIONS_MAX = 5_000
"""Maximum number of operations of a JSON patch: they take a tenth of a second."""
COPIED_BYTES_MAX = 3 * 1024 * 1024
"""Maximum size of all copies by a JSON patch in bytes."""
Identity = Callable[[Any], Any]
"""Returns the hashable merge key of a list's item."""
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def json_patch(_: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Apply a JSON patch in place. Raises 400, 413 and 422."""
    import jsonpatch  # few clients send one: the server starts without it

    if not isinstance(patch, list) or not all(isinstance(item, dict) for item in patch):
        raise status_errors.bad_request("expected a JSON patch, which is a list of objects")
    if len(patch) > OPERATIONS_MAX:
        raise status_errors.too_large(OPERATIONS_MAX)
    patched, copied_bytes = document, 0
    try:
        for operation in patch:
            if operation.get("op") == "copy":
                copied = jsonpatch.JsonPointer(operation["from"]).resolve(patched)
                copied_bytes += len(json_codec.encode(copied))
                _require_small(copied_bytes)
            patched = jsonpatch.JsonPatch([operation]).apply(patched, in_place=True)
    except (
        jsonpatch.JsonPatchException,
        jsonpatch.JsonPointerException,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise status_errors.StatusError(422, "Invalid", f"the patch fails: {error}", {}) from error
    return _require_object(patched)


def _require_small(copied_bytes: int) -> None:
    """Raise ValueError for copies of copies, which double."""
    if copied_bytes > COPIED_BYTES_MAX:
        raise ValueError(f"more than {COPIED_BYTES_MAX} bytes would be copied")


def merge_patch(_: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Return the document with a JSON merge patch applied. Raises 400."""
    return _require_object(_merge(document, _require_object(patch)))


def strategic_patch(resource: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Return the document with a strategic merge patch applied. Raises 400 and 500.

    It does not change the kind, whatever it names.
    """
    patched = _object(api_types.of(resource), document, _require_object(patch))
    return {**patched, "apiVersion": resource.api_version, "kind": resource.kind}


def _require_object(value: Any) -> Document:
    if not isinstance(value, dict):
        raise status_errors.bad_request(f"expected a JSON object, got {type(value).__name__}")
    return value


def _merge(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return result


# ------------------------------------------------------------------ strategic merge


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
    if isinstance(retained := change.get("$retainKeys"), list):
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
        merged[name] = _object(field.type if field else kind.item or api_types.ANY, old, value)
    elif field is not None and field.is_merged_by_patch and isinstance(value, list | None):
        if name in change or old:
            merged[name] = _list(field, old, name, change)
    elif name in change:
        merged[name] = value


# ------------------------------------------------------------------ lists


def _list(field: api_types.Field, old: Any, name: str, change: Document) -> list[Any]:
    patched = change.get(name) or []
    if old is None and _ORDER + name not in change:  # new items need no merge keys
        return [_new(field, item) for item in patched if not _directive(item)]
    before = old if isinstance(old, list) else []
    identity = _identity(field)
    order = change.get(_ORDER + name)
    if order is not None:
        _require_order(identity, [item for item in patched if not _directive(item)], order)
    if any(_directive(item) == "replace" for item in patched):
        return [item for item in patched if _directive(item) != "replace"]
    deleted = set(map(_hashable, change.get(_DELETE_FROM + name) or ()))
    remaining = [item for item in before if _hashable(item) not in deleted]
    merged = _merged(field, remaining, patched, identity)
    if order is None:
        order = [item for item in patched if _directive(item) != "delete"]
    return _ordered(merged, before, order, identity)


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
    for item in patched:
        key = identity(item)
        at = next((at for at, known in enumerate(merged) if identity(known) == key), None)
        if _directive(item) == "delete":
            if at is not None:
                del merged[at]
        elif at is None:
            merged.append(_new(field, item))
        elif isinstance(item, dict):
            merged[at] = _object(field.type.item_type, merged[at], item)
    return merged


def _new(field: api_types.Field, item: Any) -> Any:
    return _object(field.type.item_type, {}, item) if isinstance(item, dict) else item


def _directive(item: Any) -> str:
    return str(item.get("$patch", "")) if isinstance(item, dict) else ""


def _require_order(identity: Identity, items: list[Any], order: list[Any]) -> None:
    """Raise 500 unless the items of a patch are a subsequence of its `$setElementOrder`."""
    rest = map(identity, order)
    if not all(identity(item) in rest for item in items):
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


def _broken(message: str) -> status_errors.StatusError:
    return status_errors.StatusError(500, "", message)
