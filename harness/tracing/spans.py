"""Spans as they are before they become OpenTelemetry's."""

import dataclasses
import hashlib
from typing import TypeAlias

Attributes: TypeAlias = dict[str, str | int | float | bool]


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """A moment within a span."""

    name: str
    ts_ns: int
    attributes: Attributes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that took time; times are of the run's monotonic clock."""

    name: str
    process: str
    """The process that did it, which is the service: `scheduler`, `traffic-0`, …"""
    trace: str
    """Text that tells the trace: the uid of a pod or claim, or `RUN`."""
    key: str
    """Text that tells the span within the trace; ROOT: the one that has all others below it."""
    begun_ns: int
    ended_ns: int
    is_client: bool = False
    """True for an API call."""
    error: str = ""
    """Why it failed; empty: it did not."""
    attributes: Attributes = dataclasses.field(default_factory=dict)
    events: tuple[Event, ...] = ()


ROOT = ""
RUN = "run"


def trace_id(run_id: str, trace: str) -> int:
    """Return the id of a trace, which is the same whenever the run is sent."""
    return _number(16, run_id, trace)


def span_id(run_id: str, trace: str, key: str) -> int:
    """Return the id of a span, which is the same whenever the run is sent."""
    return _number(8, run_id, trace, key)


def _number(size: int, *parts: str) -> int:
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=size).digest()
    return int.from_bytes(digest, "big") or 1
