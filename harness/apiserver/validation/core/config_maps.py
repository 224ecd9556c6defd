"""ConfigMaps and Secrets: keys, size limits, immutability."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

BYTES_MAX = 1024 * 1024
"""Total size in bytes of the values of one object, base64 decoded."""
_FROZEN = "field is immutable when `immutable` is set"


def config_map(document: Document) -> Iterator[Cause]:
    """Validate a ConfigMap."""
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        yield from formats.check(f"data[{key}]", key, formats.config_key)
        if key in binary:
            yield field_errors.invalid(
                f"data[{key}]", key, "duplicate of key present in binaryData"
            )
        size += len((value or "").encode())
    for key, value in binary.items():
        yield from formats.check(f"binaryData[{key}]", key, formats.config_key)
        size += _decoded_size(value)
    if size > BYTES_MAX:
        yield field_errors.too_long("[]", BYTES_MAX)


def config_map_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated ConfigMap; an `immutable` one keeps its data."""
    yield from _unchanged_if_immutable(document, old, ("data", "binaryData"))
    yield from config_map(document)


def secret(document: Document) -> Iterator[Cause]:
    """Validate a Secret."""
    size = 0
    for key, value in (document.get("data") or {}).items():
        yield from formats.check(f"data[{key}]", key, formats.config_key)
        size += _decoded_size(value)
    if size > BYTES_MAX:
        yield field_errors.too_long("data", BYTES_MAX)


def secret_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated Secret: its type never changes, an `immutable` one keeps its data."""
    if (document.get("type") or "") != (old.get("type") or ""):
        yield field_errors.immutable("type", document.get("type") or "")
    yield from _unchanged_if_immutable(document, old, ("data",))
    yield from secret(document)


def _unchanged_if_immutable(
    document: Document, old: Document, keys: tuple[str, ...]
) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not document.get("immutable"):
        yield field_errors.forbidden("immutable", _FROZEN)
    for key in keys:
        if not field_rules.semantically_equal(document.get(key), old.get(key)):
            yield field_errors.forbidden(key, _FROZEN)


def _decoded_size(value: str | None) -> int:
    """Return the size in bytes of a base64 text once decoded."""
    text = (value or "").rstrip("=")
    return len(text) * 3 // 4
