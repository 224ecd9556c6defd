"""Configuration for drivers: opaque parameters of claims, classes and allocations, and data of allocated devices."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.rules import causes, formats, printing
from harness.apiserver.statuses import Cause

Document = dict[str, Any]
CONFIGURATIONS_MAX = 32
OPAQUE_BYTES_MAX = 10 * 1024


def configuration(document: Document, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """What one driver is told; of what is stored already the size does not count."""
    opaque = document.get("opaque")
    if opaque is None:
        yield causes.required(f"{at}.opaque")
        return
    yield from formats.driver_causes(f"{at}.opaque.driver", opaque.get("driver"))
    yield from raw(opaque.get("parameters"), f"{at}.opaque.parameters", stored=stored)


def raw(value: object, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """An object that the server does not look into."""
    if value is None:
        yield causes.required(at)
    elif not stored and len(printing.json(value)) > OPAQUE_BYTES_MAX:
        yield causes.too_long(at, OPAQUE_BYTES_MAX)
    elif not isinstance(value, dict):
        yield causes.omitted(at, "must be a valid JSON object")
