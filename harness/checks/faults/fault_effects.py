"""Finds the effects of faults that explain a double allocation, as far as the record shows them.

A device went to claim A and, while A held it, to claim B. The scheduler decided on B without the
knowledge of A's allocation. These faults can take that knowledge away:

- of the status write that allocated the device to A: its response was lost or late, so that the
  outcome was unknown; or the request was under way so long that its sender had ended before;
- of B's status write: it was sent before A's allocation, and committed after it;
- another client gave the device to A;
- of the event of A's allocation: it reached the scheduler late, behind a late one, or not at all,
  because its watch had ended;
- of a read: it showed a state from before A's allocation;
- of processes: the scheduler was killed, paused, restarted or replaced, or the API server was
  restarted, between the first of these writes and B's allocation;
- of the API calls shortly before: a status write of A or B was rejected or lost, or another client
  changed the claim.

Effects on other claims, before A's allocation or after B's, explain nothing and are not named.
Versions decide where they are known; times, which are those of the recorder, decide elsewhere.
"""

import collections
import functools
import math
from collections.abc import Callable, Iterable, Iterator

from harness.checks import planned_faults, verdicts
from harness.checks.faults import fault_records
from harness.checks.holds import hold_columns, hold_history
from harness.history import records
from harness.model.fault_effects import Effect

NEAR_NS = 1_000_000_000
"""A scheduler decides at most this long before the commit of its decision."""
WATCH_AGAIN_NS = 2_000_000_000
"""A client watches again at most this long after its watch has ended."""
_FAILURES = frozenset({Effect.LOST_WRITE, Effect.CONFLICT})
"""Effects on a write before its commit."""
_ON_WRITES = _FAILURES | {Effect.LOST_ANSWER, Effect.LATE_WRITE, Effect.MOVED_CLAIM}
_ON_PROCESSES = (Effect.RESTART, Effect.PAUSE, Effect.TAKE_OVER, Effect.API_SERVER)
_SCHEDULER = "scheduler"
"""Name of the first scheduler, and prefix of the names of others."""
_Key = tuple[str, str]
"""Namespace and name of a claim."""


class FaultEffects:
    """The effects of the faults of a run, by what they hit."""

    def __init__(
        self, applications: Iterable[records.FaultApplied], holds: hold_columns.HoldColumns
    ) -> None:
        self._by_effect: dict[Effect, list[records.FaultApplied]] = collections.defaultdict(list)
        self._on_claims: dict[_Key, list[records.FaultApplied]] = collections.defaultdict(list)
        for item in applications:
            effect = _effect(item)
            self._by_effect[effect].append(item)
            if effect in _ON_WRITES and item.resource == hold_history.CLAIMS:
                self._on_claims[item.namespace, item.name].append(item)
        self._holds_of = functools.cache(holds.of_claims)

    def between(
        self, first: verdicts.Holder, second: verdicts.Holder
    ) -> list[verdicts.FaultEffect]:
        """Return the effects that explain that `second` was given the device of `first`.

        Those on writes come first, those on events last.
        """
        writes = [*self._first_writes(first, second), *self._second_writes(first, second)]
        since_ns = min([first.allocated_ts_ns, *(effect.begun_ns for effect in writes)])
        return [
            *writes,
            *self._processes(since_ns, second.allocated_ts_ns),
            *self._watches(first, second),
            *self._reads(first, second),
            *self._events(first, second),
        ]

    # ------------------------------------------------------------------------- writes

    def _first_writes(
        self, first: verdicts.Holder, second: verdicts.Holder
    ) -> Iterator[verdicts.FaultEffect]:
        """Yield the effects on the write that allocated the device to the first claim."""
        since_ns, until_ns = self._free_since_ns(first), second.allocated_ts_ns

        def explains(item: records.FaultApplied) -> bool:
            effect = _effect(item)
            if effect is Effect.MOVED_CLAIM:
                return item.resource_version == first.held_from_rv
            if not since_ns <= item.begun_ns < until_ns:
                return False
            if effect is Effect.LOST_ANSWER:
                return item.resource_version in (0, first.held_from_rv)
            if effect in _FAILURES:
                return item.begun_ns >= first.allocated_ts_ns - NEAR_NS
            is_committed = item.ended_ns is not None and item.ended_ns < until_ns
            return item.begun_ns <= first.allocated_ts_ns and is_committed

        return self._writes_of(first, explains)

    def _second_writes(
        self, first: verdicts.Holder, second: verdicts.Holder
    ) -> Iterator[verdicts.FaultEffect]:
        since_ns = self._free_since_ns(second)
        near_ns = max(since_ns, first.allocated_ts_ns - NEAR_NS)

        def explains(item: records.FaultApplied) -> bool:
            effect = _effect(item)
            if effect is Effect.LATE_WRITE:
                return since_ns <= item.begun_ns < first.allocated_ts_ns
            return effect in _FAILURES and near_ns <= item.begun_ns < second.allocated_ts_ns

        return self._writes_of(second, explains)

    def _writes_of(
        self, holder: verdicts.Holder, explains: Callable[[records.FaultApplied], bool]
    ) -> Iterator[verdicts.FaultEffect]:
        """Yield one effect for each fault: its last application on the claim that explains it."""
        found: dict[tuple[str, str], list[records.FaultApplied]] = collections.defaultdict(list)
        for item in self._on_claims.get((holder.namespace, holder.name), ()):
            if item.uid in ("", holder.uid) and _is_decisive(item) and explains(item):
                found[item.fault, item.kind].append(item)
        for items in found.values():
            text = _clause(items[-1], len(items), name=holder.name)
            yield fault_records.effect(items[-1], _claim(holder), text)

    def _free_since_ns(self, holder: verdicts.Holder) -> int:
        """Return the time of the last release by a claim of this name; 0: there was none before."""
        ends = [
            hold.until_ts_ns
            for hold in self._holds_of(holder.namespace, holder.name)
            if hold.until_ts_ns is not None and (hold.until_rv or 0) <= holder.held_from_rv
        ]
        return max(ends, default=0)

    # -------------------------------------------------------- events, watches and reads

    def _events(
        self, first: verdicts.Holder, second: verdicts.Holder
    ) -> Iterator[verdicts.FaultEffect]:
        """Yield, for each scheduler, the delay of the event of the first allocation."""
        late: dict[str, records.FaultApplied] = {}
        for item in self._by_effect[Effect.LATE_EVENT]:
            if _is_read_by_scheduler(item) and self._delays(item, first, second):
                late[item.client] = max(
                    item, late.get(item.client, item), key=lambda one: one.resource_version
                )
        for item in late.values():
            yield fault_records.effect(item, _claim(first), _of_event(item, first))

    @staticmethod
    def _delays(
        item: records.FaultApplied, first: verdicts.Holder, second: verdicts.Holder
    ) -> bool:
        """Return whether the event of the first allocation waited when the second was decided.

        Events of a watch do not overtake each other, so that it waits behind an earlier one too.
        """
        if item.ended_ns is not None and item.ended_ns < second.allocated_ts_ns - NEAR_NS:
            return False
        if item.resource_version == first.held_from_rv:
            return item.begun_ns < second.allocated_ts_ns
        is_earlier = 0 < item.resource_version < first.held_from_rv
        allocated_ns = first.allocated_ts_ns
        is_waiting = item.ended_ns is None or item.ended_ns > allocated_ns
        return is_earlier and item.begun_ns <= allocated_ns and is_waiting

    def _watches(
        self, first: verdicts.Holder, second: verdicts.Holder
    ) -> Iterator[verdicts.FaultEffect]:
        """Yield, for each fault, the last end of a watch before the first allocation."""
        ended: dict[tuple[str, str], records.FaultApplied] = {}
        for item in self._by_effect[Effect.ENDED_WATCH]:
            is_near = item.begun_ns >= first.allocated_ts_ns - WATCH_AGAIN_NS
            if _is_read_by_scheduler(item) and is_near and _precedes(item, first, second):
                ended[item.client, item.fault] = item
        for item in ended.values():
            yield fault_records.effect(item, item.client, _clause(item, name=first.name))

    def _reads(
        self, first: verdicts.Holder, second: verdicts.Holder
    ) -> Iterator[verdicts.FaultEffect]:
        """Yield, for each fault, the last stale read between the two allocations."""
        stale: dict[tuple[str, str], records.FaultApplied] = {}
        for item in self._by_effect[Effect.OLD_STATE]:
            is_between = first.allocated_ts_ns <= item.begun_ns < second.allocated_ts_ns
            shows_claim = item.name in ("", first.name)
            is_older = item.resource_version < first.held_from_rv
            if _is_read_by_scheduler(item) and is_between and shows_claim and is_older:
                stale[item.client, item.fault] = item
        for item in stale.values():
            yield fault_records.effect(item, item.client, _of_read(item, first.name))

    # ---------------------------------------------------------------------- processes

    def _processes(self, since_ns: int, until_ns: int) -> Iterator[verdicts.FaultEffect]:
        """Yield, for each fault and process, what happened to it in this time."""
        found: dict[tuple[str, str], list[records.FaultApplied]] = collections.defaultdict(list)
        for item in (item for effect in _ON_PROCESSES for item in self._by_effect[effect]):
            is_server = _effect(item) is Effect.API_SERVER
            is_known = item.process.startswith(_SCHEDULER) or is_server
            if is_known and item.begun_ns < until_ns and _end_ns(item) >= since_ns:
                found[item.process, item.fault].append(item)
        for (process, _), items in found.items():
            text = _clause(items[-1], len(items))
            yield fault_records.effect(items[-1], process, text)


def is_unseen(effect: verdicts.FaultEffect, second: verdicts.Holder) -> bool:
    """Return whether it kept the event of the first allocation back until the second one."""
    is_late = effect.ended_ns is None or effect.ended_ns > second.allocated_ts_ns
    return planned_faults.effect_of(effect.kind) is Effect.LATE_EVENT and is_late


def _effect(item: records.FaultApplied) -> Effect:
    return planned_faults.effect_of(item.kind)


def _is_decisive(item: records.FaultApplied) -> bool:
    """Return whether an application on a claim may change what the scheduler knows of it."""
    if _effect(item) in (Effect.CONFLICT, Effect.MOVED_CLAIM):
        return True
    is_scheduler = not item.client or item.client.startswith(_SCHEDULER)
    return is_scheduler and item.subresource == "status" and not item.event_type


def _is_read_by_scheduler(item: records.FaultApplied) -> bool:
    return item.resource == hold_history.CLAIMS and item.client.startswith(_SCHEDULER)


def _precedes(item: records.FaultApplied, first: verdicts.Holder, second: verdicts.Holder) -> bool:
    """Return whether a watch ended before it showed the first allocation."""
    if item.resource_version:
        is_before = item.resource_version <= first.held_from_rv
        return is_before and item.begun_ns < second.allocated_ts_ns
    return item.begun_ns <= first.allocated_ts_ns


def _end_ns(item: records.FaultApplied) -> float:
    """Return the end of the effect on a process; a pause without an end lasts."""
    if item.ended_ns is not None:
        return item.ended_ns
    return math.inf if _effect(item) is Effect.PAUSE else item.begun_ns + NEAR_NS


def _claim(holder: verdicts.Holder) -> str:
    return f"ResourceClaim {holder.namespace}/{holder.name}"


# ------------------------------------------------------------------------------ clauses


def _clause(item: records.FaultApplied, count: int = 1, *, name: str = "") -> str:
    """Return the clause of a kind of fault, about the claim `name`.

    `item` is the last of `count` applications.
    """
    text = planned_faults.of(item.kind).clause.format(
        name=name, process=_named(item.process), client=_named(item.client), lasted=_lasted(item)
    )
    return f"{text}{f' {count:,} times' * (count > 1)} ({item.fault})"


def _of_event(item: records.FaultApplied, first: verdicts.Holder) -> str:
    """Return the clause for the late event of an allocation, or of one it could not overtake."""
    event, client = f"the event of the allocation of {first.name}", _named(item.client)
    if item.ended_ns is None:
        return f"{event} did not reach {client} ({item.fault})"
    if item.resource_version != first.held_from_rv:
        told = f"waited behind one that reached {client} {_lasted(item)} late"
        return f"{event} {told} ({item.fault})"
    return f"{event} reached {client} {_lasted(item)} late ({item.fault})"


def _of_read(item: records.FaultApplied, name: str) -> str:
    version = f" (resourceVersion {item.resource_version})" if item.resource_version else ""
    state = f"a state{version} from before the allocation of {name}"
    return f"{_named(item.client)} read {state} ({item.fault})"


def _named(process: str) -> str:
    return f"the {process}" if process == _SCHEDULER else process


def _lasted(item: records.FaultApplied) -> str:
    """Return the duration of an effect, or that it did not end."""
    if item.ended_ns is None:
        return "the rest of the run"
    ms = (item.ended_ns - item.begun_ns) / 1e6
    return f"{ms / 1e3:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"
