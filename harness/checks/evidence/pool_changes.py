"""The changes of device pools during a run: which were made, and whether all that were demanded.

A run whose pools changed less often than its scenario demands has not shown what it was for, so it
is not VALID.
"""

import collections

import msgspec

from harness.checks import protocol
from harness.history import histories, records


class PoolChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the journals of changes."""

    made: dict[str, int] = {}
    """Name of a change -> how often it was made."""
    undone: dict[str, int] = {}
    """Name of a change -> how often it was undone."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The totals, and the problems of the journals."""

    totals: PoolChanges
    problems: list[str]
    """One line for each journal that is missing or incomplete."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Reading":
        return read(evidence.history)


def read(history: histories.History) -> Reading:
    """Read all journals of changes that the plan expects."""
    made: collections.Counter[str] = collections.Counter()
    undone: collections.Counter[str] = collections.Counter()
    problems = []
    for process in history.expected_pool_changes():
        reader = history.pool_changes(process)
        if reader is None:
            problems.append(f"{process} left no journal of changes")
            continue
        for record in reader:
            if isinstance(record, records.PoolChanged):
                (undone if record.undone else made)[record.change] += 1
        ok, reason = reader.ended_in_order(f"changes of {process}")
        if not ok:
            problems.append(reason)
    totals = PoolChanges(made=dict(sorted(made.items())), undone=dict(sorted(undone.items())))
    return Reading(totals=totals, problems=problems)


def answer(reading: Reading, demanded: dict[str, int]) -> tuple[bool, str]:
    """Return whether every demanded change was made, and the figures.

    `demanded` is how often each has to be made, by name.
    """
    made = reading.totals.made
    missing = [
        f"{made.get(name, 0)} times {name}, expected {least}"
        for name, least in demanded.items()
        if made.get(name, 0) < least
    ]
    if missing:
        missing.append("the load ended too early: make traffic.duration_s longer")
    bad = [*reading.problems, *missing]
    good = ", ".join(f"{count} times {name}" for name, count in made.items())
    return not bad, "; ".join(bad) or good
