"""Totals over the journals of preparations: what the nodes' driver did with claims.

A second witness of the use of devices. No verdict depends on it: the kubelets are part of the
harness, and a real driver need not tell.
"""

import collections

import msgspec

from harness.history import histories, records


class Preparations(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the journals of preparations."""

    prepared: int = 0
    """Claims that a driver prepared on a node."""
    unprepared: int = 0
    still_prepared: int = 0
    """Claims that were prepared on a node at the end of the journals."""
    failed: dict[str, int] = {}
    """`call reason`, as in `prepare NotReserved` -> number of failed calls."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The totals, and the problems of the journals."""

    totals: Preparations
    problems: list[str]
    """One line for each journal that is missing or incomplete."""


def read(history: histories.History) -> Reading:
    """Read all journals of preparations that the plan expects."""
    tally, problems = _Tally(), []
    for process in history.expected_preparations():
        reader = history.preparations(process)
        if reader is None:
            problems.append(f"{process} left no journal of preparations")
            continue
        for record in reader:
            tally.add(record)
        ok, reason = reader.ended_in_order(f"preparations of {process}")
        if not ok:
            problems.append(reason)
    return Reading(totals=tally.totals(), problems=problems)


class _Tally:
    """Counts records in the order of their journals."""

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._failed: collections.Counter[str] = collections.Counter()
        self._open: set[tuple[str, str]] = set()
        """Node and uid of the claims that are prepared."""

    def add(self, record: records.Body) -> None:
        """Count one record."""
        match record:
            case records.Prepared():
                self._counts["prepared"] += 1
                self._open.add((record.node, record.claim_uid))
            case records.Unprepared():
                self._counts["unprepared"] += 1
                self._open.discard((record.node, record.claim_uid))
            case records.PrepareFailed():
                self._failed[f"{record.call} {record.reason}"] += 1
            case _:
                pass

    def totals(self) -> Preparations:
        """Return the totals."""
        return Preparations(
            prepared=self._counts["prepared"],
            unprepared=self._counts["unprepared"],
            still_prepared=len(self._open),
            failed=dict(sorted(self._failed.items())),
        )
