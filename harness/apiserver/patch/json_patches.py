"""JSON patch (RFC 6902) and merge patches (RFC 7386), and the kinds of patch by one signature.

The `copy` operations of a JSON patch copy a limited number of bytes, since copies of copies double.
"""

import operator
import re
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.patch import strategic_merge
from harness.apiserver.scheme import api_types, resources

COPIED_BYTES_MAX = 3 * 1024 * 1024
"""Maximum size of all copies by a patch in bytes: `JSONPatchMaxCopyBytes` of kube-apiserver."""
_INDEX = re.compile(r"-?(?:0|[1-9][0-9]{0,9})")
Pointer = list[str]


def json_patch(_: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Return the document with a JSON patch applied. Raises 400 and 422."""
    if not isinstance(patch, list) or not all(isinstance(item, dict) for item in patch):
        raise status_errors.bad_request("expected a JSON patch, which is a list of objects")
    try:
        return _object(apply(document, patch))
    except InapplicableError as error:
        raise status_errors.StatusError(422, "Invalid", f"the patch fails: {error}", {}) from error


def merge_patch(_: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Return the document with a JSON merge patch applied. Raises 400."""
    return _object(_merge(document, _object(patch)))


def strategic_patch(resource: resources.ResourceType, document: Document, patch: Any) -> Document:
    """Return the document with a strategic merge patch applied. Raises 400 and 500.

    It does not change the kind, whatever it names.
    """
    patched = strategic_merge.patch(api_types.of(resource), document, _object(patch))
    return {**patched, "apiVersion": resource.api_version, "kind": resource.kind}


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


# ------------------------------------------------------------------ JSON patch


class InapplicableError(Exception):
    """The operations cannot be applied to this document, or exceed a limit."""


def apply(document: Any, patch: list[dict[str, Any]]) -> Any:
    """Return the patched document; the input is not changed. Raises InapplicableError."""
    root = {"": json_codec.decode(json_codec.encode(document))}
    copied_bytes = 0
    for operation in patch:
        copied_bytes += _do(root, operation)
        if copied_bytes > COPIED_BYTES_MAX:
            raise InapplicableError(f"more than {COPIED_BYTES_MAX} bytes would be copied")
    return root[""]


def _do(root: Document, operation: dict[str, Any]) -> int:
    """Do an operation in place; return the number of bytes that it copies."""
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            _add(root, path, _value(operation))
        case "remove" if len(path) > 1:
            _remove(root, path)
        case "replace":
            _remove(root, path)
            _add(root, path, _value(operation))
        case "move":
            source = _pointer(operation, "from")
            if source != path and path[: len(source)] == source:
                raise InapplicableError("a value cannot be moved into itself")
            _add(root, path, _remove(root, source))
        case "copy":
            data = json_codec.encode(_get(root, _pointer(operation, "from")))
            _add(root, path, json_codec.decode(data))
            return len(data)
        case "test":
            if not _equal(_get(root, path), operation.get("value")):
                raise InapplicableError(f"testing value {operation.get('path')} failed")
        case other:
            raise InapplicableError(f"cannot {other} {operation.get('path')!r}")
    return 0


def _get(root: Document, path: Pointer) -> Any:
    here: Any = root
    for part in path:
        here = _child(here, part)
    return here


def _child(here: Any, part: str) -> Any:
    if isinstance(here, dict) and part in here:
        return here[part]
    if isinstance(here, list):
        return here[_index(part, len(here))]
    raise InapplicableError(f"{part}: no such member")


def _add(root: Document, path: Pointer, value: Any) -> None:
    parent, last = _get(root, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(last, len(parent) + 1), value)
    else:
        raise InapplicableError(f"{last}: cannot add to a {type(parent).__name__}")


def _remove(root: Document, path: Pointer) -> Any:
    parent, last = _get(root, path[:-1]), path[-1]
    removed = _child(parent, last)
    operator.delitem(parent, last if isinstance(parent, dict) else _index(last, len(parent)))
    return removed


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise InapplicableError("the operation has no value")
    return operation["value"]


def _pointer(operation: dict[str, Any], key: str) -> Pointer:
    """Return the unescaped tokens of a JSON pointer (RFC 6901), below the root."""
    text = operation.get(key)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise InapplicableError(f"expected a JSON pointer in {key}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def _index(part: str, length: int) -> int:
    """Return an index into a list; as in Kubernetes, negative ones count from its end."""
    if not _INDEX.fullmatch(part) or not -length <= int(part) < length:
        raise InapplicableError(f"{part[:20]} is not an index into a list of {length} items")
    return int(part) % length


def _equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON; in Python 1 is True as well."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return (isinstance(one, bool) is isinstance(other, bool)) and bool(one == other)
