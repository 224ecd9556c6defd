"""The events of a race, in order: commits, steps, calls, faults, processes and scripts.

A commit counts from the first time at which any record shows it, which may be before the recorder
saw it; commits of lower versions are never later. Times of several machines are not compared.
"""

import collections
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from harness.checks import verdicts
from harness.checks.certificate import script_items
from harness.history import histories, records
from harness.report import evidence
from harness.report.causes import deciding_writes, explaining, step_sentences
from harness.report.replay import race_states, watches
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

Change = Callable[[race_states.State], object]


class Event(NamedTuple):
    """Something that happened."""

    ts_ns: int
    order: int
    """Among events of one time: what another one rests on comes first."""
    rank: int
    """0: it decides who holds the device; larger: it is left out first."""
    text: str
    """Empty: it changes what is known, and is no moment of its own."""
    change: Change | None = None


_STEP, _COMMIT, _FAULT, _ANSWER = range(4)
_AGENT_MAX = 60
"""Characters of the name of a program."""
_VERSION_MAX = 18
"""Digits of a version."""


class Call(NamedTuple):
    """A write of the status of a claim by a scheduler."""

    process: str
    sent: records.Invocation
    end: records.Completion | None
    """None: no end of the call is recorded."""

    @property
    def version(self) -> int:
        """The version that it made, according to its answer; 0: not known."""
        text = self.end.resource_version if self.end else ""
        return int(text) if text.isdecimal() and len(text) <= _VERSION_MAX else 0


Calls = Mapping[tuple[str, str], Sequence[Call]]
"""Namespace and name of a claim -> the writes of its status."""


def calls_of(history: histories.History, found: Iterable[verdicts.DoubleAllocation]) -> Calls:
    wanted = {(item.namespace, item.name) for one in found for item in one.holders}
    calls: dict[tuple[str, str], list[Call]] = collections.defaultdict(list)
    for process in filter(watches.is_scheduler, history.expected_writes() if wanted else ()):
        sent: dict[int, records.Invocation] = {}
        for item in history.operations(process) or ():
            if isinstance(item, records.Invocation) and item.resource == "resourceclaims/status":
                if (item.namespace, item.name) in wanted:
                    sent[item.op] = item
            elif isinstance(item, records.Completion) and item.op in sent:
                call = sent.pop(item.op)
                calls[call.namespace, call.name].append(Call(process, call, item))
        for call in sent.values():
            calls[call.namespace, call.name].append(Call(process, call, None))
    return calls


class Race(NamedTuple):
    """The records of one double allocation."""

    source: evidence.Evidence
    violation: verdicts.DoubleAllocation
    steps: Sequence[records.Step]
    writes: deciding_writes.DecidingWrites
    calls: Calls
    watches: watches.Watches
    is_replayed: bool

    @property
    def claims(self) -> Iterator[tuple[verdicts.Holder, str]]:
        return zip(self.violation.holders, "AB", strict=True)

    def calls_of(self, holder: verdicts.Holder) -> Sequence[Call]:
        return self.calls.get((holder.namespace, holder.name), ())


def events(race: Race) -> list[Event]:
    """Return all that is known to have happened to both claims and the device, in order."""
    found = [*_placed(race), *_steps(race), *_calls(race), *_arrivals(race)]
    found += [*_faults(race), *_processes(race), *_script(race), *_thread_holds(race)]
    return sorted(found, key=lambda event: (event.ts_ns, event.order))


# ------------------------------------------------------------------------------------ commits


class _Commit(NamedTuple):
    version: int
    seen_ns: int
    rank: int
    text: str
    change: Change | None = None


def _commits(race: Race) -> Iterator[_Commit]:
    for holder, letter in race.claims:
        yield from _of_claim(race, holder, letter)
        for pod in holder.pods:
            bound = race.writes.binding(holder.namespace, pod)
            if bound is not None:
                text = f"{pod} of claim {letter} is bound to {bound.part('spec', 'nodeName')}"
                yield _Commit(bound.resource_version, bound.ts_ns, 1, text)


def _of_claim(race: Race, holder: verdicts.Holder, letter: str) -> Iterator[_Commit]:
    device, before = race.violation.device, None
    for version in race.writes.versions_of_claim(holder):
        now = race_states.stored(version)
        if before is not None and now.version <= before.version:
            continue  # listed again
        said = list(race_states.differing(before, now, device)) or ["changes in another way"]
        held = before is not None and device in before.devices
        rank = 2 if held == (device in now.devices) else 0
        change = functools.partial(race_states.State.store, letter=letter, now=now)
        yield _Commit(
            now.version, version.ts_ns, rank, f"claim {letter} {' and '.join(said)}", change
        )
        before = now


def commit_times(race: Race) -> dict[int, int]:
    """Return the versions of both claims, and of bindings, each with the time of its commit."""
    first = {item.version: item.seen_ns for item in _commits(race)}
    for version, ts_ns in _proofs(race, set(first)):
        first[version] = min(ts_ns, first[version])
    versions = sorted(first, reverse=True)
    earliest = itertools.accumulate((first[version] for version in versions), min)
    return dict(zip(versions, earliest, strict=True))


def at_commits(
    violation: verdicts.DoubleAllocation, times: Mapping[int, int]
) -> verdicts.DoubleAllocation:
    """Return a double allocation with the times of commits, not those of their observations."""
    holders = [
        msgspec.structs.replace(
            item,
            allocated_ts_ns=times.get(item.held_from_rv, item.allocated_ts_ns),
            released_ts_ns=times.get(item.held_until_rv or 0, item.released_ts_ns),
        )
        for item in violation.holders
    ]
    return msgspec.structs.replace(violation, holders=holders)


def _placed(race: Race) -> list[Event]:
    times, found = commit_times(race), []
    for item in sorted(_commits(race), key=lambda item: item.version):
        author = race.source.authors.get(item.version)
        by = f", written by {author.agent.partition(' ')[0][:_AGENT_MAX]}" if author else ""
        text = f"the API server stores version {item.version}: {item.text}{by}"
        found.append(Event(times[item.version], _COMMIT, item.rank, text, item.change))
    return found


def _proofs(race: Race, wanted: set[int]) -> Iterator[tuple[int, int]]:
    yield from race.watches.proofs(wanted)
    written = race.source.reads.writes
    yield from ((found, written[found].answered_ns) for found in wanted & written.keys())
    for step in race.steps:
        version = str(step.fields.get("version"))
        if step.name == _WRITTEN and version.isdecimal() and int(version) in wanted:
            yield int(version), step.ts_ns
    for call in (call for holder in race.violation.holders for call in race.calls_of(holder)):
        if call.version in wanted and call.end is not None:
            yield call.version, call.end.ts_ns
    for effect in race.violation.faults:
        is_answer = fault_kinds.of(effect.kind).effect is Effect.LOST_ANSWER
        if is_answer and effect.resource_version in wanted:
            yield effect.resource_version, effect.begun_ns


# ------------------------------------------------------------------------- the scheduler's part

_SKIPPED = frozenset({"scheduling.started", "filter.started"})
_WRITTEN = "pre-bind.written"


def _steps(race: Race) -> Iterator[Event]:
    letters = {holder.uid: letter for holder, letter in race.claims}
    names = race.source.names | {uid: f"claim {letter}" for uid, letter in letters.items()}
    for step in race.steps:
        change, text = _stepping(step, letters, race.violation.device), ""
        if step.name not in _SKIPPED and step_sentences.has_sentence(step.name, step.fields):
            text = step_sentences.sentence(step.thread, step.name, step.fields, names)
        if text or change:
            rank = 1 if step.name.startswith(explaining.OF_SCHEDULER) else 3
            is_other = "claim" in step.fields and step.fields["claim"] not in letters
            order = _ANSWER if step.name == _WRITTEN else _STEP
            yield Event(step.ts_ns, order, rank + 2 * is_other, text, change)


def _stepping(step: records.Step, letters: Mapping[str, str], device: str) -> Change | None:
    """Return what a step changes in what the scheduler knows; None: nothing that is shown."""
    process = step.thread.rpartition("/")[0] or watches.SCHEDULER  # of only one: without a name
    letter = letters.get(str(step.fields.get("claim")), "")
    is_device = step.fields.get("device") == device
    if step.name == "in-flight.added" and is_device and letter:
        return lambda state: state.planned.add((process, letter))
    if step.name == "in-flight.removed" and letter:
        return lambda state: state.planned.discard((process, letter))
    if step.name == "allocated-devices.inserted" and is_device:
        return lambda state: state.books.add(process)
    if step.name == "allocated-devices.removed" and is_device:
        return lambda state: state.books.discard(process)
    return None


def _calls(race: Race) -> Iterator[Event]:
    for holder, letter in race.claims:
        for call in race.calls_of(holder):
            yield from _call(call, letter)


def _call(call: Call, letter: str) -> Iterator[Event]:
    key, end = (call.process, letter), call.end
    sender = step_sentences.who(f"{call.process}/{call.sent.user}")
    text = f"{sender} sends the status of claim {letter}"
    yield Event(call.sent.ts_ns, _STEP, 1, text, lambda state: state.under_way.add(key))
    if end is None:
        return
    status = f" ({end.status})" if end.status else ""
    text = {
        "ok": f"{sender} gets the answer that the status of claim {letter} is written",
        "fail": f"{sender} gets the answer that the status of claim {letter} is refused{status}",
    }.get(end.outcome) or (
        f"{sender} gets no answer to the status of claim {letter}: it may be written or not"
    )
    rank = 2 if end.outcome == "ok" else 1
    yield Event(end.ts_ns, _ANSWER, rank, text, lambda state: state.under_way.discard(key))


def _arrivals(race: Race) -> Iterator[Event]:
    for holder, letter in race.claims:
        for process, ts_ns in race.watches.arrivals(holder.held_from_rv):
            told = f"version {holder.held_from_rv} of claim {letter}"
            text = f"the watch of {process} delivers {told}"
            if race.watches.are_sent:
                text = f"{process} is sent {told}"
            yield Event(ts_ns, _ANSWER, 1, text)


# ----------------------------------------------------------------- faults, processes and scripts


def _faults(race: Race) -> Iterator[Event]:
    """Yield each fault behind the double allocation; of what was held back, begin and end."""
    for effect in race.violation.faults:
        held = _held(race, effect) if effect.ended_ns != effect.begun_ns else ""
        begun = f"{held} ({effect.fault})" if held else effect.text
        yield Event(effect.begun_ns, _FAULT, 1, begun)
        if held and effect.ended_ns is not None:
            yield Event(effect.ended_ns, _ANSWER, 1, effect.text)


_HELD_BACK = {
    Effect.LATE_EVENT: "the event of version {version} of {name} is held back",
    Effect.ENDED_WATCH: "events from version {version} on are held back",
    Effect.LATE_WRITE: "the status write of {name} is held on its way to the API server",
    Effect.LOST_ANSWER: "the answer to the status write of {name} is held back",
}


def _held(race: Race, effect: verdicts.FaultEffect) -> str:
    """Return what a fault holds back; empty: nothing, or for ever."""
    _, _, name = effect.object.rpartition("/")
    letter = next((letter for holder, letter in race.claims if holder.name == name), "")
    named = f"claim {letter}" if letter else effect.object
    text = _HELD_BACK.get(fault_kinds.of(effect.kind).effect, "")
    return text.format(version=effect.resource_version, name=named)


_Process = (
    records.ProcessStarted | records.ProcessPaused | records.ProcessResumed | records.ProcessEnded
)


def _processes(race: Race) -> Iterator[Event]:
    journal = race.source.history.processes
    for item in journal.records if journal else ():
        if isinstance(item, _Process) and watches.is_scheduler(item.process):
            change, text = None, _process(item)
            if isinstance(item, records.ProcessEnded):
                change = functools.partial(race_states.State.end, process=item.process)
            if text:
                yield Event(item.ts_ns, _FAULT, 1, f"{item.process} {text}", change)


def _process(item: _Process) -> str:
    """Return what happens to a process; empty: it ends as planned."""
    match item:
        case records.ProcessStarted():
            return "starts"
        case records.ProcessPaused():
            return f"is paused ({item.fault})"
        case records.ProcessResumed():
            return "goes on"
    why = item.fault or "its lease is lost" * item.lease_lost
    return f"ends ({why})" if why else "ends" * (not item.expected)


def _script(race: Race) -> Iterator[Event]:
    for step in script_items.steps(race.source.history):
        if not step.late:
            where = step.seen.partition(";")[0] if step.seen.startswith("goroutine") else ""
            text = f"step {step.step} of the script: {step.text}" + f" ({where})" * bool(where)
            yield Event(step.ended_ns, _ANSWER, 2, text)


def _thread_holds(race: Race) -> Iterator[Event]:
    for held in race.source.held_in_orders:
        yield Event(held.begun_ns, _STEP, 1, held.text)
        yield Event(held.ended_ns or held.begun_ns, _ANSWER, 1, f"{held.who} goes on")
