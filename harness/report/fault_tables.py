"""The table of the faults of a run: what was planned, and what took effect."""

import dataclasses
from collections.abc import Sequence

from harness.checks.faults import fault_records
from harness.history import plans, records


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One fault; times are seconds from the start of the run as text, empty if unknown."""

    name: str
    text: str
    """The fault in words, from the plan."""
    required: str
    """`yes`, `no`, or `not planned`."""
    windows: str
    """The times in which it was on: `0.51 to 9.80`."""
    count: int
    """Number of times it took effect."""
    first: str
    last: str
    errors: Sequence[str]
    """Why it could not be injected or healed as planned."""


def rows(faults: fault_records.FaultRecords, *, started_ns: int) -> list[Row]:
    """Return a row for each fault of the plan, then for each other one in the record."""
    planned = {fault.name: fault for fault in faults.planned}
    others = [item.fault for item in faults.applications]
    others += [window.fault for window in faults.windows]
    found = []
    for name in dict.fromkeys([*planned, *others]):
        fault = planned.get(name)
        text = fault.text if fault else "in the record only"
        found.append(_row(faults, name, text, _requirement(fault), started_ns))
    return found


def _requirement(fault: plans.PlannedFault | None) -> str:
    """Return whether a fault has to take effect; None: it is in the record only."""
    if fault is None:
        return "not planned"
    if not fault.required:
        return "no"
    return f"one of {fault.drawn_by}" if fault.drawn_by else "yes"


def _row(
    faults: fault_records.FaultRecords, name: str, text: str, required: str, started_ns: int
) -> Row:
    windows = [window for window in faults.windows if window.fault == name]
    begun = [item.begun_ns for item in faults.applications if item.fault == name]
    return Row(
        name=name,
        text=text,
        required=required,
        windows=", ".join(_span(window, started_ns) for window in windows),
        count=len(begun),
        first=_second(min(begun), started_ns) if begun else "",
        last=_second(max(begun), started_ns) if begun else "",
        errors=[window.error for window in windows if window.error],
    )


def _span(window: records.FaultWindow, started_ns: int) -> str:
    begun, ended = (_second(edge, started_ns) for edge in (window.begun_ns, window.ended_ns))
    return f"{begun} to {ended}"


def _second(ns: int, started_ns: int) -> str:
    return f"{(ns - started_ns) / 1e9:.2f}"
