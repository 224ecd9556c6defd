"""Leases."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.rules import causes
from harness.apiserver.statuses import Cause

Document = dict[str, Any]


def lease(document: Document) -> Iterator[Cause]:
    """A new or changed lease."""
    spec = document.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        yield causes.invalid("spec.leaseTransitions", transitions, why)
