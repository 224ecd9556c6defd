"""Leases."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document


def lease(document: Document) -> Iterator[Cause]:
    """A new or changed lease."""
    spec = document.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield field_errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        yield field_errors.invalid("spec.leaseTransitions", transitions, why)
