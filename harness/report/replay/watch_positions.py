"""How far the schedulers' watches of claims were at a time.

Our scheduler records each event that it receives. For others, the record of the faults shows which
events were held back, and when they were sent; what it shows of no event is not known.
"""

import array
import bisect
from collections.abc import Iterable, Iterator, Mapping

from harness.checks.holds import hold_history
from harness.history import records

SCHEDULER = "scheduler"
"""Name of the first scheduler, and prefix of the names of others."""


def is_scheduler(process: str) -> bool:
    """Return whether a process of a run is one of its schedulers."""
    return process.startswith(SCHEDULER)


_RECEIVED, _INFORMER = "informer.event.received", "informer-resourceclaims"


class Received:
    """The events of claims that one process has received, in order."""

    def __init__(self) -> None:
        self._times = array.array("q")
        self._versions = array.array("q")
        self._newest = array.array("q")

    def add(self, step: records.Step) -> None:
        """Note a step, if it is the receipt of an event of a claim."""
        if step.name != _RECEIVED or step.fields.get("informer") != _INFORMER:
            return
        version = str(step.fields.get("version"))
        if version.isdecimal() and len(version) < 19:
            self._times.append(step.ts_ns)
            self._versions.append(int(version))
            self._newest.append(max(int(version), self._newest[-1] if self._newest else 0))

    def __bool__(self) -> bool:
        return bool(self._times)

    def at(self, ts_ns: int) -> int | None:
        """Return the newest version that had been received; None: nothing had."""
        count = bisect.bisect_right(self._times, ts_ns)
        return self._newest[count - 1] if count else None

    def time_of(self, version: int) -> int | None:
        """Return when a version was received first; None: never."""
        found = (
            ts for ts, known in zip(self._times, self._versions, strict=True) if known == version
        )
        return next(found, None)


class Position:
    """How far a watch was: it had `seen` a version at least, and none from `below` on."""

    __slots__ = ("below", "seen")

    def __init__(self, seen: int | None, below: int | None) -> None:
        self.seen, self.below = seen, below

    def lacks(self, version: int) -> bool:
        """Return whether a version had surely not been received."""
        return self.below is not None and version >= self.below

    def words(self, newest: int) -> str:
        """Return the position beside the newest version that the API server had."""
        if self.seen is not None and self.below == self.seen + 1:
            return f"up to version {self.seen} of {newest}"
        if self.below is not None:
            return f"before version {self.below} of {newest}"
        return "not recorded" if self.seen is None else f"at least version {self.seen} of {newest}"


UNKNOWN = Position(None, None)


class WatchPositions:
    """The watches of all schedulers of a run."""

    def __init__(
        self, received: Mapping[str, Received], applications: Iterable[records.FaultApplied]
    ) -> None:
        self._received = {
            process: found for process, found in received.items() if found and is_scheduler(process)
        }
        self._held: dict[str, list[records.FaultApplied]] = {}
        for item in applications:
            is_event = bool(item.event_type) and item.resource == hold_history.CLAIMS
            if is_event and is_scheduler(item.client):
                self._held.setdefault(item.client, []).append(item)

    @property
    def processes(self) -> list[str]:
        """The schedulers of which anything is known."""
        return sorted({*self._received, *self._held})

    def at(self, process: str, ts_ns: int) -> Position:
        """Return how far the watch of a process was at a time."""
        if process in self._received:
            seen = self._received[process].at(ts_ns)
            return UNKNOWN if seen is None else Position(seen, seen + 1)
        held = self._held.get(process, ())
        sent = [item for item in held if item.ended_ns is not None and item.ended_ns <= ts_ns]
        waiting = [item for item in held if item.begun_ns <= ts_ns and item not in sent]
        return Position(
            max((item.resource_version for item in sent), default=None),
            min((item.resource_version for item in waiting), default=None),
        )

    def newest(self, ts_ns: int) -> int:
        """Return the newest version that any watch had delivered; 0: none is known."""
        seen = [self.at(process, ts_ns).seen for process in self.processes]
        return max(filter(None, seen), default=0)

    def arrivals(self, version: int) -> Iterator[tuple[str, int]]:
        """Yield each process that is known to have received a version, and when."""
        for process, received in self._received.items():
            ts_ns = received.time_of(version)
            if ts_ns is not None:
                yield process, ts_ns

    def proofs(self, versions: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield versions with times at which they had been stored, as the schedulers show."""
        wanted = set(versions)
        for version in wanted:
            yield from ((version, ts_ns) for _, ts_ns in self.arrivals(version))
        for items in self._held.values():
            yield from (
                (item.resource_version, item.begun_ns)
                for item in items
                if item.resource_version in wanted
            )
