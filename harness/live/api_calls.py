"""The API calls of a run as its processes journal them: outcomes, durations, rates."""

import collections
from typing import TypeAlias

from harness.history import records
from harness.live import durations

WINDOW_S = 5
"""Whole seconds over which a present rate is taken."""
Key: TypeAlias = tuple[str, str]
"""Verb, and resource with its subresource."""
_OUTCOMES: tuple[records.Outcome, ...] = ("ok", "fail", "unknown")


class Calls:
    """The calls of one verb and resource."""

    def __init__(self) -> None:
        self.by_outcome: dict[str, int] = dict.fromkeys(_OUTCOMES, 0)
        self.durations = durations.Durations()

    @property
    def count(self) -> int:
        """The number of calls that have ended."""
        return sum(self.by_outcome.values())


class ApiCalls:
    """All calls of a run; `see` takes the records of one process after the other."""

    def __init__(self) -> None:
        self.by_key: dict[Key, Calls] = collections.defaultdict(Calls)
        self._open: dict[tuple[str, int], records.Invocation] = {}
        """By the process and the number of the operation."""
        self._by_second: collections.Counter[int] = collections.Counter()
        """Calls that ended in one of the last seconds of the monotonic clock."""
        self._newest_s = 0
        self._first_ns: int | None = None
        self._last_ns = 0

    @property
    def open(self) -> int:
        """The number of calls without an answer so far."""
        return len(self._open)

    @property
    def total(self) -> Calls:
        """All calls together."""
        found = Calls()
        for calls in self.by_key.values():
            found.durations.merge(calls.durations)
            for outcome, count in calls.by_outcome.items():
                found.by_outcome[outcome] += count
        return found

    def see(self, process: str, record: object) -> None:
        """See a record of the operations of a process."""
        if isinstance(record, records.Invocation):
            self._open[process, record.op] = record
            if self._first_ns is None:
                self._first_ns = record.ts_ns
        elif isinstance(record, records.Completion):
            begun = self._open.pop((process, record.op), None)
            if begun is not None:
                self._end(begun, record)

    def _end(self, begun: records.Invocation, end: records.Completion) -> None:
        calls = self.by_key[begun.verb, begun.resource]
        calls.by_outcome[end.outcome] += 1
        calls.durations.add(end.ts_ns - begun.ts_ns)
        second = end.ts_ns // 1_000_000_000
        self._last_ns = max(self._last_ns, end.ts_ns)
        self._newest_s = max(self._newest_s, second)
        self._by_second[second] += 1
        if len(self._by_second) > 4 * WINDOW_S:
            for old in [item for item in self._by_second if item < self._newest_s - 2 * WINDOW_S]:
                del self._by_second[old]

    def rate(self, now_ns: int | None) -> float:
        """Return calls per second in the last whole seconds before `now_ns`; None: on average.

        `now_ns` is on the clock of the records.
        """
        if now_ns is None:
            span_s = (self._last_ns - (self._first_ns or 0)) / 1e9
            return sum(item.count for item in self.by_key.values()) / span_s if span_s > 0 else 0.0
        now_s = now_ns // 1_000_000_000
        return sum(self._by_second[now_s - ago] for ago in range(1, WINDOW_S + 1)) / WINDOW_S
