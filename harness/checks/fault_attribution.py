"""Names the faults behind each violation; one that a fault explains is still a violation.

Any violation but a double allocation names the faults that hit its objects. A double allocation
names the effects that explain it, or the earlier double allocation that it follows from. A device
went to claim A and, while A held it, to claim B. The scheduler decided on B without the knowledge
of A's allocation. These faults can take that knowledge away:

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
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from harness.checks import fault_records, plan_facts, protocol, verdicts
from harness.checks.holds import hold_columns, hold_history
from harness.history import records
from harness.model.fault_effects import Effect

NEAR_NS = 1_000_000_000
"""A scheduler decides at most this long before the commit of its decision."""
WATCH_AGAIN_NS = 2_000_000_000
"""A client watches again at most this long after its watch has ended."""
NONE = "no fault hit its objects"
UNEXPLAINED = "no fault explains it"
EFFECTS_MAX = 5
"""Faults named for one violation; the last ones to hit its objects."""
_FAILURES = frozenset({Effect.LOST_WRITE, Effect.CONFLICT})
"""Effects on a write before its commit."""
_ON_WRITES = _FAILURES | {Effect.LOST_ANSWER, Effect.LATE_WRITE, Effect.MOVED_CLAIM}
_ON_PROCESSES = (Effect.RESTART, Effect.PAUSE, Effect.TAKE_OVER, Effect.API_SERVER)
_Applied: TypeAlias = records.FaultApplied
_Effects: TypeAlias = Iterator[verdicts.FaultEffect]


class _Pair(NamedTuple):
    """The holders of a double allocation, the earlier one first."""

    first: verdicts.Holder
    second: verdicts.Holder


class Attributor:
    """Attributes the violations of one run to its faults."""

    def __init__(self, faults: fault_records.FaultRecords, holds: hold_columns.HoldColumns) -> None:
        self._are_expected, self._holds = faults.is_expected, holds
        self._holds_of = functools.cache(holds.of_claims)
        self._by_effect = collections.defaultdict[Effect, list[_Applied]](list)
        self._on_objects = collections.defaultdict[tuple[str, str, str], list[_Applied]](list)
        """Keyed by plural name of the resource, namespace and name."""
        for item in faults.applications:
            self._by_effect[plan_facts.effect(item)].append(item)
            if item.name:
                self._on_objects[item.resource, item.namespace, item.name].append(item)

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Attributor":
        return cls(evidence[fault_records.FaultRecords], evidence[hold_history.HoldHistory].holds)

    def review(self, _check: protocol.Check, answer: verdicts.CheckResult) -> verdicts.CheckResult:
        """Return an answer whose violations have their faults, unless the run has none."""
        if not self._are_expected:
            return answer
        violations = [self.attribute(item) for item in answer.violations]
        return msgspec.structs.replace(answer, violations=violations)

    def attribute(self, violation: verdicts.Violation) -> verdicts.Violation:
        if isinstance(violation, verdicts.DoubleAllocation):
            effects, sentence = self._explain(violation)
        else:
            effects = self._of_objects(violation)
            sentence = "; ".join(effect.text for effect in effects) or NONE
        return msgspec.structs.replace(violation, faults=effects, attribution=sentence)

    def _of_objects(self, violation: verdicts.Violation) -> list[verdicts.FaultEffect]:
        """Return the last effect of each fault on each object of a violation, in order of time."""
        last: dict[tuple[str, str], verdicts.FaultEffect] = {}
        for involved in violation.objects:
            key = (f"{involved.kind.lower()}s", involved.namespace, involved.name)
            name = "/".join(filter(None, (involved.namespace, involved.name)))
            for item in self._on_objects.get(key, ()):
                if not item.uid or not involved.uid or item.uid == involved.uid:
                    effect = fault_records.effect(item, f"{involved.kind} {name}", _text(item))
                    last[effect.fault, effect.object] = effect
        return sorted(last.values(), key=lambda effect: effect.begun_ns)[-EFFECTS_MAX:]

    def _explain(
        self, violation: verdicts.DoubleAllocation
    ) -> tuple[list[verdicts.FaultEffect], str]:
        pair = _Pair(*violation.holders)
        effects = self._between(pair)
        is_unseen = any(_comes_unseen(effect, pair.second) for effect in effects)
        freed_by = None if is_unseen else self._freed_by(violation.device, pair)
        if freed_by is not None:
            return [], (
                f"it follows from an earlier one: {freed_by.name} had the device too, and its "
                f"release at resourceVersion {freed_by.until_rv} made it look free while "
                f"{pair.first.name} still held it"
            )
        return effects, _sentence(effects, pair, is_unseen=is_unseen)

    def _freed_by(self, device: str, pair: _Pair) -> hold_history.Hold | None:
        """Return the hold of a third claim that ended while the first claim held the device.

        kube-scheduler keeps the allocated devices in a set, so that the release by one holder
        removes a device that another one still holds. None: there was no such hold.
        """
        first, second = pair
        released = [
            hold
            for hold in self._holds.of_device(device)
            if hold.uid not in (first.uid, second.uid)
            and hold.until_rv is not None
            and first.held_from_rv < hold.until_rv < second.held_from_rv
        ]
        return max(released, key=lambda hold: hold.until_rv or 0, default=None)

    def _between(self, pair: _Pair) -> list[verdicts.FaultEffect]:
        """Return the effects that explain that the second was given the device of the first.

        Those on writes come first, those on events last. Of several applications of a fault on one
        thing, the last one is named.
        """
        writes = [
            *self._on_write(pair.first, lambda item: self._explains_first(item, pair)),
            *self._on_write(pair.second, lambda item: self._explains_second(item, pair)),
        ]
        since_ns = min([pair.first.allocated_ts_ns, *(effect.begun_ns for effect in writes)])
        return [
            *writes,
            *self._on_processes(since_ns, pair.second.allocated_ts_ns),
            *self._on_watches(pair),
            *self._on_reads(pair),
            *self._on_events(pair),
        ]

    # ------------------------------------------------------------------------- writes

    def _on_write(self, holder: verdicts.Holder, explains: Callable[[_Applied], bool]) -> _Effects:
        items = [
            item
            for item in self._on_objects.get(
                (hold_history.CLAIMS, holder.namespace, holder.name), ()
            )
            if plan_facts.effect(item) in _ON_WRITES
            and item.uid in ("", holder.uid)
            and _is_decisive(item)
            and explains(item)
        ]
        for same in _grouped(items, lambda item: (item.fault, item.kind)):
            text = _clause(same[-1], len(same), name=holder.name)
            yield fault_records.effect(same[-1], _claim(holder), text)

    def _explains_first(self, item: _Applied, pair: _Pair) -> bool:
        effect, until_ns = plan_facts.effect(item), pair.second.allocated_ts_ns
        if effect is Effect.MOVED_CLAIM:
            return item.resource_version == pair.first.held_from_rv
        if not self._free_since_ns(pair.first) <= item.begun_ns < until_ns:
            return False
        if effect is Effect.LOST_ANSWER:
            return item.resource_version in (0, pair.first.held_from_rv)
        if effect in _FAILURES:
            return item.begun_ns >= pair.first.allocated_ts_ns - NEAR_NS
        is_committed = item.ended_ns is not None and item.ended_ns < until_ns
        return item.begun_ns <= pair.first.allocated_ts_ns and is_committed

    def _explains_second(self, item: _Applied, pair: _Pair) -> bool:
        effect, since_ns = plan_facts.effect(item), self._free_since_ns(pair.second)
        if effect is Effect.LATE_WRITE:
            return since_ns <= item.begun_ns < pair.first.allocated_ts_ns
        near_ns = max(since_ns, pair.first.allocated_ts_ns - NEAR_NS)
        return effect in _FAILURES and near_ns <= item.begun_ns < pair.second.allocated_ts_ns

    def _free_since_ns(self, holder: verdicts.Holder) -> int:
        """Return the time of the last release by a claim of this name; 0: there was none before."""
        ends = [
            hold.until_ts_ns
            for hold in self._holds_of(holder.namespace, holder.name)
            if hold.until_ts_ns is not None and (hold.until_rv or 0) <= holder.held_from_rv
        ]
        return max(ends, default=0)

    # ------------------------------------------- processes, watches, reads and events

    def _on_processes(self, since_ns: int, until_ns: int) -> _Effects:
        items = [
            item
            for effect in _ON_PROCESSES
            for item in self._by_effect[effect]
            if effect is Effect.API_SERVER or item.process.startswith(plan_facts.SCHEDULER)
            if item.begun_ns < until_ns and _end_ns(item) >= since_ns
        ]
        for same in _grouped(items, lambda item: (item.process, item.fault)):
            text = _clause(same[-1], len(same))
            yield fault_records.effect(same[-1], same[-1].process, text)

    def _on_watches(self, pair: _Pair) -> _Effects:
        since_ns = pair.first.allocated_ts_ns - WATCH_AGAIN_NS
        items = [
            item
            for item in self._of_schedulers(Effect.ENDED_WATCH)
            if item.begun_ns >= since_ns and _precedes(item, pair)
        ]
        for *_, item in _grouped(items, lambda item: (item.client, item.fault)):
            yield fault_records.effect(item, item.client, _clause(item, name=pair.first.name))

    def _on_reads(self, pair: _Pair) -> _Effects:
        """Yield the last stale reads between the two allocations."""
        first, second = pair
        items = [
            item
            for item in self._of_schedulers(Effect.OLD_STATE)
            if first.allocated_ts_ns <= item.begun_ns < second.allocated_ts_ns
            and item.name in ("", first.name)
            and item.resource_version < first.held_from_rv
        ]
        for *_, item in _grouped(items, lambda item: (item.client, item.fault)):
            known = f" (resourceVersion {item.resource_version})" if item.resource_version else ""
            text = (
                f"{_named(item.client)} read a state{known} from before the allocation of "
                f"{first.name} ({item.fault})"
            )
            yield fault_records.effect(item, item.client, text)

    def _on_events(self, pair: _Pair) -> _Effects:
        """Yield, for each scheduler, the delay of the event of the first allocation."""
        items = [item for item in self._of_schedulers(Effect.LATE_EVENT) if _delays(item, pair)]
        for same in _grouped(items, lambda item: item.client):
            newest = max(reversed(same), key=lambda item: item.resource_version)
            yield fault_records.effect(newest, _claim(pair.first), _of_event(newest, pair.first))

    def _of_schedulers(self, effect: Effect) -> Iterator[_Applied]:
        for item in self._by_effect[effect]:
            is_read = item.resource == hold_history.CLAIMS
            if is_read and item.client.startswith(plan_facts.SCHEDULER):
                yield item


def _grouped(
    items: Iterable[_Applied], key: Callable[[_Applied], Hashable]
) -> Iterable[Sequence[_Applied]]:
    found = collections.defaultdict[Hashable, list[_Applied]](list)
    for item in items:
        found[key(item)].append(item)
    return found.values()


def _comes_unseen(effect: verdicts.FaultEffect, second: verdicts.Holder) -> bool:
    """Return whether it kept the event of the first allocation back until the second one."""
    is_late = effect.ended_ns is None or effect.ended_ns > second.allocated_ts_ns
    return plan_facts.effect(effect) is Effect.LATE_EVENT and is_late


def _is_decisive(item: _Applied) -> bool:
    """Return whether an application on a claim may change what the scheduler knows of it."""
    if plan_facts.effect(item) in (Effect.CONFLICT, Effect.MOVED_CLAIM):
        return True
    is_scheduler = not item.client or item.client.startswith(plan_facts.SCHEDULER)
    return is_scheduler and item.subresource == "status" and not item.event_type


def _delays(item: _Applied, pair: _Pair) -> bool:
    """Return whether the event of the first allocation waited when the second was decided.

    Events of a watch do not overtake each other, so that it waits behind an earlier one too.
    """
    first, second = pair
    if item.ended_ns is not None and item.ended_ns < second.allocated_ts_ns - NEAR_NS:
        return False
    if item.resource_version == first.held_from_rv:
        return item.begun_ns < second.allocated_ts_ns
    is_earlier = 0 < item.resource_version < first.held_from_rv
    allocated_ns = first.allocated_ts_ns
    is_waiting = item.ended_ns is None or item.ended_ns > allocated_ns
    return is_earlier and item.begun_ns <= allocated_ns and is_waiting


def _precedes(item: _Applied, pair: _Pair) -> bool:
    if item.resource_version:
        is_before = item.resource_version <= pair.first.held_from_rv
        return is_before and item.begun_ns < pair.second.allocated_ts_ns
    return item.begun_ns <= pair.first.allocated_ts_ns


def _end_ns(item: _Applied) -> float:
    """Return the end of the effect on a process; a pause without an end lasts."""
    if item.ended_ns is not None:
        return item.ended_ns
    return math.inf if plan_facts.effect(item) is Effect.PAUSE else item.begun_ns + NEAR_NS


# ------------------------------------------------------------------------------ clauses


def _claim(holder: verdicts.Holder) -> str:
    return f"ResourceClaim {holder.namespace}/{holder.name}"


def _clause(item: _Applied, count: int = 1, *, name: str = "") -> str:
    """Return the clause of a kind of fault, about the claim `name`.

    `item` is the last of `count` applications.
    """
    text = plan_facts.kind_of(item).clause.format(
        name=name, process=_named(item.process), client=_named(item.client), lasted=_lasted(item)
    )
    return f"{text}{f' {count:,} times' * (count > 1)} ({item.fault})"


def _of_event(item: _Applied, first: verdicts.Holder) -> str:
    """Return the clause for the late event of an allocation, or of one it could not overtake."""
    client, told = _named(item.client), f"reached {_named(item.client)} {_lasted(item)} late"
    if item.ended_ns is None:
        told = f"did not reach {client}"
    elif item.resource_version != first.held_from_rv:
        told = f"waited behind one that {told}"
    return f"the event of the allocation of {first.name} {told} ({item.fault})"


def _named(process: str) -> str:
    return f"the {process}" if process == plan_facts.SCHEDULER else process


def _lasted(item: _Applied) -> str:
    """Return the duration of an effect, or that it did not end."""
    if item.ended_ns is None:
        return "the rest of the run"
    ms = (item.ended_ns - item.begun_ns) / 1e6
    return f"{ms / 1e3:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"


def _text(item: records.FaultApplied) -> str:
    resource = f"{item.resource}/{item.subresource}" if item.subresource else item.resource
    hit = f"the {item.verb} of {resource} {item.name} by {item.client}"
    if item.event_type:
        hit = f"the event {item.event_type} of {item.name} to {item.client}"
    return f"{hit}: {item.detail or item.kind} ({item.fault})"


def _sentence(effects: Sequence[verdicts.FaultEffect], pair: _Pair, *, is_unseen: bool) -> str:
    """Join the effects behind a double allocation.

    `is_unseen`: the event of the first one had not reached the scheduler when the second one was
    committed.
    """
    if not effects:
        return UNEXPLAINED
    first, second = pair
    *others, last = (effect.text for effect in effects)
    joined = f"{', '.join(others)}, and {last}" if others else last
    versions = second.held_from_rv - first.held_from_rv
    distance = "1 version" if versions == 1 else f"{versions:,} versions"
    if is_unseen:
        return (
            f"{joined}: when {second.name} was allocated, {distance} after {first.name}, "
            "the scheduler could not know of it"
        )
    return f"{joined}; {second.name} was allocated {distance} after {first.name}"
