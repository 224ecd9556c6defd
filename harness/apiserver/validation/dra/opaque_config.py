"""Configuration for drivers: opaque parameters of claims, classes and allocations, and data of allocated devices."""

from collections.abc import Iterator

from harness.apiserver.codec import go_values
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

CONFIGURATIONS_MAX = 32
OPAQUE_BYTES_MAX = 10 * 1024


def configuration(document: Document, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """What one driver is told; of what is stored already the size does not count."""
    opaque = document.get("opaque")
    if opaque is None:
        yield field_errors.required(f"{at}.opaque")
        return
    yield from formats.driver_causes(f"{at}.opaque.driver", opaque.get("driver"))
    yield from raw(opaque.get("parameters"), f"{at}.opaque.parameters", stored=stored)


def raw(value: object, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """An object that the server does not look into."""
    if value is None:
        yield field_errors.required(at)
    elif not stored and len(go_values.json(value)) > OPAQUE_BYTES_MAX:
        yield field_errors.too_long(at, OPAQUE_BYTES_MAX)
    elif not isinstance(value, dict):
        yield field_errors.omitted(at, "must be a valid JSON object")
