"""The patches that are applied to a document: JSON patch, JSON merge patch, strategic merge patch.

All pure: plain decoded JSON in, a new document out; the input is never changed.
"""

import copy
from typing import Any

import jsonpatch

from harness.apiserver import diagnosing, resources, schemas, statuses

Document = dict[str, Any]
JSON_PATCH_OPERATIONS_MAX = 10_000


def json_patch(document: Document, patch: Any) -> Document:
    """RFC 6902."""
    if patch is None:
        return document
    _require_operations(patch)
    try:
        result = jsonpatch.JsonPatch(patch).apply(document)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise _unprocessable() from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _unprocessable() from error
    return _object(result)


def _require_operations(patch: Any) -> None:
    if not isinstance(patch, list):
        raise _undecodable(patch, "[]handlers.jsonPatchOp")
    for item in patch:
        if not isinstance(item, dict):
            raise _undecodable(item, "handlers.jsonPatchOp")
    if len(patch) > JSON_PATCH_OPERATIONS_MAX:
        why = (
            f"The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS_MAX}, "
            f"got {len(patch)}"
        )
        raise statuses.StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def _undecodable(value: Any, wanted: str) -> statuses.StatusError:
    what = diagnosing.JSON_NAMES.get(type(value), "null")
    why = f"json: cannot unmarshal {what} into Go value of type {wanted}"
    return statuses.bad_request(f"error decoding patch: {why}")


def merge_patch(document: Document, patch: Any) -> Document:
    """RFC 7386."""
    return _object(_merge(document, _object(patch)))


def strategic_patch(resource: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Kubernetes' strategic merge patch, with its directives."""
    return _object(_strategic(resource, document, _object(patch), ""))


def _unprocessable() -> statuses.StatusError:
    """The operations are understood, but cannot be done; why is in the server's log only."""
    message = "the server rejected our request due to an error in our request"
    return statuses.StatusError(422, "Invalid", message, {})


def _object(value: Any) -> Document:
    if not isinstance(value, dict):
        raise statuses.bad_request(f"expected a JSON object, got {type(value).__name__}")
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


def _strategic(
    resource: resources.ResourceType, old: Any, patch: dict[str, Any], path: str
) -> dict[str, Any]:
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    result = dict(old) if isinstance(old, dict) else {}
    if "$retainKeys" in patch:
        kept = set(patch["$retainKeys"])
        result = {key: value for key, value in result.items() if key in kept}
    for key, value in patch.items():
        if not key.startswith("$"):
            _strategic_field(resource, result, key, value, f"{path}.{key}" if path else key)
    _apply_list_directives(resource, result, patch, path)
    return result


def _strategic_field(
    resource: resources.ResourceType, result: dict[str, Any], key: str, value: Any, path: str
) -> None:
    if value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        result[key] = _strategic(resource, result.get(key), value, path)
    elif isinstance(value, list):
        result[key] = _strategic_list(resource, result.get(key), value, path)
    else:
        result[key] = value


def _strategic_list(
    resource: resources.ResourceType, old: Any, patch: list[Any], path: str
) -> list[Any]:
    keys = schemas.merge_keys(resource, path)
    if path in schemas.SETS:
        kept = list(old or [])
        return kept + [item for item in patch if item not in kept]
    if keys is None or {"$patch": "replace"} in patch:
        return [item for item in patch if item != {"$patch": "replace"}]
    return _merge_by_keys(resource, list(old or []), patch, path, keys)


def _merge_by_keys(
    resource: resources.ResourceType,
    items: list[Any],
    patch: list[Any],
    path: str,
    keys: schemas.Keys,
) -> list[Any]:
    merge_key = keys[:1] if path == "spec.containers.ports" else keys
    for item in patch:
        wanted = _identity(item, merge_key)
        found = next((i for i, o in enumerate(items) if _identity(o, merge_key) == wanted), None)
        if item.get("$patch") == "delete":
            if found is not None:
                del items[found]
        elif found is None:
            items.append(_strategic(resource, {}, item, path))
        else:
            items[found] = _strategic(resource, items[found], item, path)
    return items


def _identity(item: Any, keys: schemas.Keys) -> tuple[Any, ...]:
    if not isinstance(item, dict):
        raise statuses.bad_request("expected an object in a list that merges by key")
    return tuple(item.get(key) for key in keys)


def _apply_list_directives(
    resource: resources.ResourceType, result: dict[str, Any], patch: dict[str, Any], path: str
) -> None:
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            result[name] = [item for item in result.get(name, []) if item not in value]
        elif key.startswith("$setElementOrder/"):
            name = key.partition("/")[2]
            inner = f"{path}.{name}" if path else name
            if name in result:
                result[name] = _ordered(resource, result[name], value, inner)


def _ordered(
    resource: resources.ResourceType, items: list[Any], order: list[Any], path: str
) -> list[Any]:
    keys = schemas.merge_keys(resource, path)

    def identity(item: Any) -> Any:
        return _identity(item, keys) if keys else item

    positions = {repr(identity(item)): place for place, item in enumerate(order)}
    last = len(positions)
    return sorted(items, key=lambda item: positions.get(repr(identity(item)), last))


def clone(document: Document) -> Document:
    """A deep copy of decoded JSON."""
    return copy.deepcopy(document)
