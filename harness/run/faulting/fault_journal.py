"""Writes faults.jsonl: what took effect, and when each fault was enabled."""

import collections
import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Any

from harness import clocks, concurrency, errors, writing
from harness.history import journal_writer, records

Effect = contextlib.AbstractContextManager[dict[str, Any]]


@dataclasses.dataclass(slots=True)
class Window:
    """The time in which a fault is enabled; it is written when everything is healed."""

    fault: str
    kind: str
    begun_ns: int = dataclasses.field(default_factory=clocks.monotonic_ns)
    has_begun: bool = False
    """True when it is switched on, or could not be."""
    ended_ns: int | None = None
    """None while the fault is enabled."""
    errors: list[str] = dataclasses.field(default_factory=list)
    """Why it could not be injected, healed or observed as planned."""


class FaultJournal:
    """The journal, and the number of effects of each fault so far. Threads may share it."""

    def __init__(self, path: pathlib.Path, *, run_id: str) -> None:
        """Raises OSError if the file cannot be created."""
        self._guard = concurrency.lock("fault-journal")
        self._writer = journal_writer.Writer(path, process="faults", run_id=run_id)
        self._counts: collections.Counter[str] = collections.Counter()
        self._ended: collections.Counter[str] = collections.Counter()
        self._windows: list[Window] = []
        self._is_closed = False
        self.failure: errors.HarnessError | None = None
        """The error that keeps the journal from being written; None: it can be written."""

    def open_window(self, fault: str, kind: str) -> Window:
        window = Window(fault, kind)
        with self._guard:
            self._windows.append(window)
        return window

    def active(self) -> list[str]:
        with self._guard:
            return [window.fault for window in self._windows if window.ended_ns is None]

    def begun(self) -> set[str]:
        with self._guard:
            return {window.fault for window in self._windows if window.has_begun}

    def took_effect(self, fault: str) -> None:
        """Count an effect, which may still last; its record follows when it has ended."""
        with self._guard:
            self._counts[fault] += 1

    def count(self, fault: str) -> int:
        return self._counts[fault]

    def ended_count(self, fault: str) -> int:
        return self._ended[fault]

    @contextlib.contextmanager
    def effect(self, fault: str, kind: str, process: str, detail: str) -> Iterator[dict[str, Any]]:
        """Count an effect on a process, and write it with its end when the block is left.

        The entries that the block puts into the dictionary become fields of the record. A block
        that fails has no end.
        """
        facts: dict[str, Any] = {"begun_ns": clocks.monotonic_ns()}
        self.took_effect(fault)
        try:
            yield facts
            facts.setdefault("ended_ns", clocks.monotonic_ns())
        finally:
            facts = {"ended_ns": None, **facts}
            self.write(
                records.FaultApplied(
                    fault=fault, kind=kind, process=process, detail=detail, **facts
                )
            )

    def write(self, record: records.FaultApplied) -> None:
        with self._guard, self._noting_failure():
            self._ended[record.fault] += 1
            if self._is_open():
                self._writer.write(record)

    def close(self, *, problem: str = "") -> None:
        """Write the windows, with the problem of the traffic's effects, and the trailer."""
        with self._guard, self._noting_failure():
            if self._is_open():
                for window in self._windows:
                    self._writer.write(self._record(window, problem))
                self._is_closed = True
                self._writer.close()

    def _is_open(self) -> bool:
        return self.failure is None and not self._is_closed

    def _record(self, window: Window, problem: str) -> records.FaultWindow:
        found = [*window.errors, problem] if problem else window.errors
        return records.FaultWindow(
            fault=window.fault,
            kind=window.kind,
            begun_ns=window.begun_ns,
            ended_ns=clocks.monotonic_ns() if window.ended_ns is None else window.ended_ns,
            applied_count=self._counts[window.fault],
            error="; ".join(dict.fromkeys(found)),
        )

    @contextlib.contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failure = writing.explain(error)
