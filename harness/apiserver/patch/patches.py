"""Apply a decoded patch to a document: JSON patch, JSON merge patch, strategic merge patch.

All functions return a new document and leave the input unchanged.
"""

from typing import Any

from harness.apiserver.errors import status_errors
from harness.apiserver.patch import json_patches, strategic_merge
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document


def json_patch(document: Document, patch: Any) -> Document:
    """Return the document with a JSON patch (RFC 6902) applied. Raises 400, 413 and 422."""
    if patch is None:
        return document
    json_patches.require_operations(patch)
    try:
        return _object(json_patches.apply(document, patch))
    except json_patches.InapplicableError as error:
        # The message is that of kube-apiserver, which does not return the reason either.
        message = "the server rejected our request due to an error in our request"
        raise status_errors.StatusError(422, "Invalid", message, {}) from error


def merge_patch(document: Document, patch: Any) -> Document:
    """Return the document with a JSON merge patch (RFC 7386) applied. Raises 400."""
    if patch is None:
        raise status_errors.bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise json_patches.undecodable(patch, "map[string]interface {}")
    return _object(_merge(document, patch))


def strategic_patch(resource: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Return the document with a strategic merge patch applied. Raises 400 and 500."""
    return strategic_merge.patch(api_types.of(resource), document, _object(patch))


def _object(value: Any) -> Document:
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
