"""The events of a race, in order: commits, steps, calls, faults, processes and scripts.

A commit counts from the first time at which any record shows it, which may be before the recorder
saw it; commits of lower versions are never later. Times of several machines are not compared.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from harness.checks import verdicts
from harness.checks.witness import audit_history, program_reads
from harness.history import records
from harness.model import thread_places
from harness.report.causes import deciding_writes, explaining, step_sentences
from harness.report.replay import race_states, status_writes, watch_positions
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

Change = Callable[[race_states.State], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """The records of one double allocation."""

    violation: verdicts.DoubleAllocation
    steps: Sequence[records.Step]
    writes: deciding_writes.DecidingWrites
    calls: status_writes.Writes
    positions: watch_positions.WatchPositions
    processes: Sequence[records.Body]
    """The starts, ends and pauses of processes."""
    script: Sequence[records.ScriptStep]
    holds: Sequence[records.ThreadHold]
    """The threads that a search of orders has held in its try."""
    authors: Mapping[int, audit_history.Author]
    """Version -> who wrote it, according to the audit log; empty: there is none."""
    reads: program_reads.ProgramReads
    names: Mapping[str, str]
    """Names of pods and other claims by uid."""

    @property
    def letters(self) -> dict[str, str]:
        """uid of a claim -> its letter."""
        return {item.uid: name for item, name in zip(self.violation.holders, "AB", strict=True)}

    def calls_of(self, holder: verdicts.Holder) -> Sequence[status_writes.StatusWrite]:
        """Return the status writes of the claim of a holder."""
        return self.calls.get((holder.namespace, holder.name), ())


def events(race: Race) -> list[Event]:
    """Return all that is known to have happened to both claims and the device, in order."""
    commits = list(_commits(race))
    found = [*_placed(race, commits), *_steps(race), *_calls(race), *_arrivals(race)]
    found += [*_faults(race), *_processes(race), *_script(race), *_holds(race)]
    return sorted(found, key=lambda event: (event.ts_ns, event.order))


# ------------------------------------------------------------------------------------ commits


@dataclasses.dataclass(frozen=True, slots=True)
class _Commit:
    version: int
    seen_ns: int
    rank: int
    text: str
    change: Change | None = None


def _commits(race: Race) -> Iterator[_Commit]:
    for holder, letter in zip(race.violation.holders, "AB", strict=True):
        yield from _of_claim(race, holder, letter)
        for pod in holder.pods:
            bound = race.writes.binding(holder.namespace, pod)
            if bound is not None:
                spec = bound.object.get("spec")
                node = spec.get("nodeName") if isinstance(spec, dict) else ""
                text = f"{pod} of claim {letter} is bound to {node}"
                yield _Commit(bound.resource_version, bound.ts_ns, 1, text)


def _of_claim(race: Race, holder: verdicts.Holder, letter: str) -> Iterator[_Commit]:
    device, before = race.violation.device, None
    for version in race.writes.versions_of_claim(holder):
        now = race_states.stored(version)
        if before is not None and now.version <= before.version:
            continue  # listed again
        said = list(race_states.differing(before, now, device)) or ["changes in another way"]
        held = before is not None and device in before.devices
        is_decisive = held != (device in now.devices and not now.is_gone)
        text = f"claim {letter} {' and '.join(said)}"
        rank = 0 if is_decisive else 2
        yield _Commit(now.version, version.ts_ns, rank, text, _storing(letter, now))
        before = now


def _storing(letter: str, now: race_states.Stored) -> Change:
    def change(state: race_states.State) -> None:
        state.stored[letter] = now
        state.newest = max(state.newest, now.version)

    return change


def commit_times(race: Race) -> dict[int, int]:
    """Return the versions of both claims, and of bindings, each with the time of its commit."""
    return _times(race, list(_commits(race)))


def _times(race: Race, commits: Sequence[_Commit]) -> dict[int, int]:
    first = {item.version: item.seen_ns for item in commits}
    for version, ts_ns in _proofs(race, first):
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


def _placed(race: Race, commits: Sequence[_Commit]) -> list[Event]:
    times, found = _times(race, commits), []
    for item in sorted(commits, key=lambda item: item.version, reverse=True):
        author = race.authors.get(item.version)
        by = f", written by {author.agent.partition(' ')[0][:_AGENT_MAX]}" if author else ""
        text = f"the API server stores version {item.version}: {item.text}{by}"
        found.append(Event(times[item.version], _COMMIT, item.rank, text, item.change))
    return found[::-1]


def _proofs(race: Race, versions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield versions with times at which they had been stored."""
    wanted = set(versions)
    yield from race.positions.proofs(wanted)
    written = race.reads.writes
    yield from ((found, written[found].answered_ns) for found in wanted & written.keys())
    for step in race.steps:
        version = str(step.fields.get("version"))
        if step.name == _WRITTEN and version.isdecimal() and int(version) in wanted:
            yield int(version), step.ts_ns
    for holder in race.violation.holders:
        for write in race.calls_of(holder):
            if write.version in wanted and write.answered_ns is not None:
                yield write.version, write.answered_ns
    for effect in race.violation.faults:
        is_answer = fault_kinds.of(effect.kind).effect is Effect.LOST_ANSWER
        if is_answer and effect.resource_version in wanted:
            yield effect.resource_version, effect.begun_ns


# ------------------------------------------------------------------------- the scheduler's part

_SKIPPED = frozenset({"scheduling.started", "filter.started"})
_WRITTEN = "pre-bind.written"


def _steps(race: Race) -> Iterator[Event]:
    letters, device = race.letters, race.violation.device
    names = {**race.names, **{uid: f"claim {letter}" for uid, letter in letters.items()}}
    for step in race.steps:
        change = _stepping(step, letters, device)
        is_told = step.name not in _SKIPPED and step_sentences.has_sentence(step.name, step.fields)
        text = (
            step_sentences.sentence(step.thread, step.name, step.fields, names) if is_told else ""
        )
        if text or change:
            rank = 1 if step.name.startswith(explaining.OF_SCHEDULER) else 3
            is_other = "claim" in step.fields and step.fields["claim"] not in letters
            order = _ANSWER if step.name == _WRITTEN else _STEP
            yield Event(step.ts_ns, order, rank + 2 * is_other, text, change)


def process_of(thread: str) -> str:
    """Return the process of a thread; those of only one scheduler have no process in their name."""
    return thread.rpartition("/")[0] or watch_positions.SCHEDULER


def _stepping(step: records.Step, letters: Mapping[str, str], device: str) -> Change | None:
    """Return what a step changes in what the scheduler knows; None: nothing that is shown."""
    process, letter = process_of(step.thread), letters.get(str(step.fields.get("claim")), "")
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
    for holder, letter in zip(race.violation.holders, "AB", strict=True):
        for write in race.calls_of(holder):
            yield from _call(write, letter)


def _call(write: status_writes.StatusWrite, letter: str) -> Iterator[Event]:
    key = write.process, letter
    sender = step_sentences.who(f"{write.process}/{write.user}")
    text = f"{sender} sends the status of claim {letter}"
    yield Event(write.sent_ns, _STEP, 1, text, lambda state: state.under_way.add(key))
    if write.answered_ns is None:
        return
    status = f" ({write.status})" if write.status else ""
    ends = {
        "ok": f"{sender} gets the answer that the status of claim {letter} is written",
        "fail": f"{sender} gets the answer that the status of claim {letter} is refused{status}",
    }
    unknown = f"{sender} gets no answer to the status of claim {letter}: it may be written or not"
    text = ends.get(write.outcome, unknown)
    rank = 2 if write.outcome == "ok" else 1
    end: Change = lambda state: state.under_way.discard(key)  # noqa: E731 - as above
    yield Event(write.answered_ns, _ANSWER, rank, text, end)


def _arrivals(race: Race) -> Iterator[Event]:
    """Yield the receipts of the events of both allocations by the schedulers' watches."""
    for holder, letter in zip(race.violation.holders, "AB", strict=True):
        for process, ts_ns in race.positions.arrivals(holder.held_from_rv):
            told = f"version {holder.held_from_rv} of claim {letter}"
            text = f"the watch of {process} delivers {told}"
            if race.positions.are_sent:
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


def _held(race: Race, effect: verdicts.FaultEffect) -> str:
    """Return what a fault holds back; empty: nothing, or for ever."""
    _, _, name = effect.object.rpartition("/")
    letter = next(
        (a for a, b in zip("AB", race.violation.holders, strict=True) if b.name == name), ""
    )
    named = f"claim {letter}" if letter else effect.object
    match fault_kinds.of(effect.kind).effect:
        case Effect.LATE_EVENT:
            return f"the event of version {effect.resource_version} of {named} is held back"
        case Effect.ENDED_WATCH:
            return f"events from version {effect.resource_version} on are held back"
        case Effect.LATE_WRITE:
            return f"the status write of {named} is held on its way to the API server"
        case Effect.LOST_ANSWER:
            return f"the answer to the status write of {named} is held back"
    return ""


def _processes(race: Race) -> Iterator[Event]:
    for item in race.processes:
        if isinstance(item, _PROCESS) and watch_positions.is_scheduler(item.process):
            yield _process(item)


_PROCESS = (
    records.ProcessStarted,
    records.ProcessEnded,
    records.ProcessPaused,
    records.ProcessResumed,
)


def _process(
    item: records.ProcessStarted
    | records.ProcessEnded
    | records.ProcessPaused
    | records.ProcessResumed,
) -> Event:
    name, change = item.process, None
    match item:
        case records.ProcessStarted():
            text = f"{name} starts"
        case records.ProcessPaused():
            text = f"{name} is paused ({item.fault})"
        case records.ProcessResumed():
            text = f"{name} goes on"
        case records.ProcessEnded():
            why = item.fault or "its lease is lost" * item.lease_lost
            text = f"{name} ends{f' ({why})' if why else ''}" if why or not item.expected else ""
            change = _ending(name) if text else None
    return Event(item.ts_ns, _FAULT, 1, text, change)


def _ending(process: str) -> Change:
    return lambda state: state.end(process)


def _script(race: Race) -> Iterator[Event]:
    for step in race.script:
        if not step.late:
            where = step.seen.partition(";")[0] if step.seen.startswith("goroutine") else ""
            text = f"step {step.step} of the script: {step.text}" + f" ({where})" * bool(where)
            yield Event(step.ended_ns, _ANSWER, 2, text)


def _holds(race: Race) -> Iterator[Event]:
    for hold in race.holds:
        who = f"goroutine {hold.goroutine} at the {thread_places.shortened(hold.place)}"
        yield Event(hold.begun_ns, _STEP, 1, f"{who} is held; it is in {' < '.join(hold.stack)}")
        yield Event(hold.ended_ns, _ANSWER, 1, f"{who} goes on")
