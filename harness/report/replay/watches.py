"""How far the schedulers' watches of claims were at a time.

Our scheduler records each event that it receives, but no version of what it lists. For others, our
API server logs what it has sent them; behind another one, the record of the faults shows which
events were held back, and when they were sent. From the end of a watch on nothing is known until it
shows another one: the scheduler may list the claims.
"""

import bisect
import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from harness.checks import plan_facts, verdicts
from harness.checks.holds import hold_history
from harness.checks.witness import program_reads
from harness.faults import api_calls
from harness.history import records
from harness.model.fault_effects import Effect

SCHEDULER = "scheduler"
"""Name of the first scheduler, and prefix of the names of others."""
_INFORMER = "informer-resourceclaims"
_NEVER = 2**62


def is_scheduler(process: str) -> bool:
    return process.startswith(SCHEDULER)


class Position(NamedTuple):
    """How far a watch was: it had `seen` a version at least, and none from `below` on."""

    seen: int | None = None
    below: int | None = None

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


class Received:
    """The versions of claims that one process has received, or was sent, in order; 0: a list."""

    def __init__(self) -> None:
        self._times, self._newest = list[int](), list[int]()

    def note(self, ts_ns: int, version: int) -> None:
        self._times.append(ts_ns)
        self._newest.append(version and max(version, self._newest[-1] if self._newest else 0))

    def add(self, step: records.Step) -> None:
        """Note a step, if it is the receipt of an event of a claim, or a list of claims."""
        if step.fields.get("informer") != _INFORMER:
            return
        version = str(step.fields.get("version"))
        if step.name == "informer.listed":
            self.note(step.ts_ns, 0)
        elif step.name == "informer.event.received" and version.isdecimal() and len(version) < 19:
            self.note(step.ts_ns, int(version))

    def __bool__(self) -> bool:
        return bool(self._times)

    def at(self, ts_ns: int) -> Position:
        count = bisect.bisect_right(self._times, ts_ns)
        newest = self._newest[count - 1] if count else 0
        return Position(newest, newest + 1) if newest else Position()

    def time_of(self, version: int) -> int | None:
        """Return when a version, or a later one, was received first; None: never."""
        found = zip(self._times, self._newest, strict=True)
        return next((ts_ns for ts_ns, newest in found if newest >= version), None)


def sent_to(
    reads: program_reads.ProgramReads, found: Iterable[verdicts.DoubleAllocation]
) -> dict[str, Received]:
    """Return what the programs that have written the allocations were sent, by their processes."""
    sent: dict[str, Received] = {}
    for holder in (holder for violation in found for holder in violation.holders):
        write = reads.writes.get(holder.held_from_rv)
        if write is not None:
            received = Received()
            for item in reads.before(write.program, _NEVER, namespace=holder.namespace):
                if not item.is_partial:
                    received.note(item.ts_ns, item.version)
            sent[api_calls.client_of(write.program[2]) or SCHEDULER] = received
    return sent


class _HeldEvents:
    """The events of claims that faults held back from one client."""

    def __init__(self, items: Sequence[records.FaultApplied], ends: Sequence[int]) -> None:
        """`ends` are the times at which the watches of the client ended."""
        ended = [_NEVER if item.ended_ns is None else item.ended_ns for item in items]
        self.versions = np.array([item.resource_version for item in items], np.int64)
        self.begun = np.array([item.begun_ns for item in items], np.int64)
        self._ended = np.array(ended, np.int64)
        edges = np.array([*sorted(ends), _NEVER], np.int64)
        self._broken = edges[np.searchsorted(edges[:-1], self.begun)]
        """When the watch of each event ended, after which another one may have shown it."""

    def at(self, ts_ns: int) -> Position:
        over = self._ended <= ts_ns
        sent = self.versions[over & (self._broken > self._ended)]
        waiting = self.versions[(self.begun <= ts_ns) & ~over & (self._broken > ts_ns)]
        return Position(
            int(sent.max()) if sent.size else None, int(waiting.min()) if waiting.size else None
        )


class Watches:
    """The watches of all schedulers of a run."""

    def __init__(
        self,
        received: Mapping[str, Received],
        sent: Mapping[str, Received],
        applications: Iterable[records.FaultApplied],
    ) -> None:
        both = {**received, **sent}
        self._received = {name: one for name, one in both.items() if one and is_scheduler(name)}
        self._held = _held_events(applications)
        self.processes = sorted({*self._received, *self._held})
        """The schedulers of which anything is known."""
        self.are_sent = any(sent.values())
        """They are versions that were sent, which may be received later."""

    def at(self, process: str, ts_ns: int) -> Position:
        found = self._received.get(process) or self._held.get(process)
        return found.at(ts_ns) if found else Position()

    def newest(self, ts_ns: int) -> int:
        """Return the newest version that any watch had delivered; 0: none is known."""
        return max((self.at(process, ts_ns).seen or 0 for process in self.processes), default=0)

    def arrivals(self, version: int) -> Iterator[tuple[str, int]]:
        """Yield each process that is known to have received a version, and when."""
        for process, received in self._received.items():
            if (ts_ns := received.time_of(version)) is not None:
                yield process, ts_ns

    def proofs(self, versions: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield versions with times at which they had been stored, as the schedulers show."""
        for version in versions:
            yield from ((version, ts_ns) for _, ts_ns in self.arrivals(version))
            for held in self._held.values():
                yield from (
                    (version, ts_ns) for ts_ns in held.begun[held.versions == version].tolist()
                )


def _held_events(applications: Iterable[records.FaultApplied]) -> dict[str, _HeldEvents]:
    held: dict[str, list[records.FaultApplied]] = collections.defaultdict(list)
    ends: dict[str, list[int]] = collections.defaultdict(list)
    """Client -> the times at which faults ended its watch; empty: those of all clients."""
    for item in applications:
        effect = plan_facts.effect(item)
        if effect is Effect.API_SERVER:
            ends[""].append(item.begun_ns)
        if item.resource != hold_history.CLAIMS or not is_scheduler(item.client):
            continue
        if item.event_type and effect in (Effect.LATE_EVENT, Effect.ENDED_WATCH):
            held[item.client].append(item)
        if effect is Effect.ENDED_WATCH:
            ends[item.client].append(item.begun_ns if item.ended_ns is None else item.ended_ns)
    return {
        client: _HeldEvents(items, [*ends[client], *ends[""]]) for client, items in held.items()
    }
