"""The patches that are applied to a document: JSON patch, JSON merge patch, strategic merge patch.

All pure: plain decoded JSON in, a new document out; the input is never changed.
"""

from typing import Any

import jsonpatch

from harness.apiserver import diagnosing, resources, schemas, statuses, strategic

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
    if patch is None:
        raise statuses.bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise _undecodable(patch, "map[string]interface {}")
    return _object(_merge(document, patch))


def strategic_patch(resource: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Kubernetes' strategic merge patch, with its directives."""
    return strategic.patch(schemas.of(resource), document, _object(patch))


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
