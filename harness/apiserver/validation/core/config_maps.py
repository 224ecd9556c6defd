"""ConfigMaps and Secrets: keys, size, and those that may not change."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

BYTES_MAX = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"


def config_map(document: Document) -> Iterator[Cause]:
    """A new or changed ConfigMap."""
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
    """A changed ConfigMap, which may have declared that it does not change."""
    yield from _kept(document, old, ("data", "binaryData"))
    yield from config_map(document)


def secret(document: Document) -> Iterator[Cause]:
    """A new Secret."""
    size = 0
    for key, value in (document.get("data") or {}).items():
        yield from formats.check(f"data[{key}]", key, formats.config_key)
        size += _decoded_size(value)
    if size > BYTES_MAX:
        yield field_errors.too_long("data", BYTES_MAX)


def secret_change(document: Document, old: Document) -> Iterator[Cause]:
    """A changed Secret."""
    if (document.get("type") or "") != (old.get("type") or ""):
        yield field_errors.immutable("type", document.get("type") or "")
    yield from _kept(document, old, ("data",))
    yield from secret(document)


def _kept(document: Document, old: Document, keys: tuple[str, ...]) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not document.get("immutable"):
        yield field_errors.forbidden("immutable", _FROZEN)
    for key in keys:
        if not field_rules.semantically_equal(document.get(key), old.get(key)):
            yield field_errors.forbidden(key, _FROZEN)


def _decoded_size(value: str | None) -> int:
    """The length of what a base64 text stands for."""
    text = (value or "").rstrip("=")
    return len(text) * 3 // 4
