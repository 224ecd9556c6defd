"""The events of a race, in order: commits, steps, faults, processes and held threads.

A commit counts from the first time at which any record shows it, which may be before the recorder
saw it; commits of lower versions are never later. Times of several machines are not compared.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.checks import plan_facts, verdicts
from harness.history import records
from harness.manifests import places
from harness.model.fault_effects import Effect
from harness.report import evidence
from harness.report.causes import deciding_writes, explaining, step_sentences
from harness.report.replay import watches

Fact = tuple[str, ...]
"""Its kind, and of what it is."""
STORED, PLANNED, BOOKED, ENDED = "stored", "planned", "booked", "ended"
"""Kinds of facts: what is stored of a claim (its letter), that the device is in flight for one
(process and letter) or among the allocated ones (process), and that a process has ended.
"""


class Event(NamedTuple):
    """Something that happened."""

    ts_ns: int
    order: int
    """Among events of one time: what another one rests on comes first."""
    rank: int
    """0: it decides who holds the device; larger: it is left out first."""
    text: str
    """Empty: it changes what is known, and is no moment of its own."""
    fact: Fact = ()
    """The fact that it changes; empty: none."""
    value: Any = True


_STEP, _COMMIT, _FAULT, _ANSWER = range(4)
_AGENT_MAX = 60
"""Characters of the name of a program."""
_VERSION_MAX = 18
"""Digits of a version."""


class Race(NamedTuple):
    """The records of one double allocation."""

    source: evidence.Evidence
    violation: verdicts.DoubleAllocation
    steps: Sequence[records.Step]
    writes: deciding_writes.DecidingWrites
    watches: watches.Watches

    @property
    def claims(self) -> Iterator[tuple[verdicts.Holder, str]]:
        return zip(self.violation.holders, "AB", strict=True)

    @property
    def letters(self) -> dict[str, str]:
        return {holder.uid: letter for holder, letter in self.claims}


def events(race: Race) -> list[Event]:
    found = [*_placed(race), *_steps(race), *_arrivals(race)]
    found += [*_faults(race), *_processes(race), *_thread_holds(race)]
    return sorted(found, key=lambda event: (event.ts_ns, event.order))


# --------------------------------------------------------------------------- versions of claims

_DEVICE = ("driver", "pool", "device")
_PODS_MAX = 3
"""Pods of a claim that are named."""


class Stored(NamedTuple):
    """A version of a claim, as the API server stores it."""

    version: int
    devices: tuple[str, ...]
    """`driver/pool/device`; none once it is deleted."""
    pods: tuple[str, ...]
    """Names of those that it is reserved for."""
    is_ending: bool
    """Its deletion was asked for."""
    is_gone: bool

    def words(self, device: str) -> str:
        if self.is_gone:
            return f"version {self.version}: deleted"
        held = "the device" if device in self.devices else "another device"
        reserved = f", for {', '.join(self.pods)}" if self.pods else ""
        ending = ", being deleted" * self.is_ending
        return f"version {self.version}: {held if self.devices else 'no device'}{reserved}{ending}"


def stored(version: deciding_writes.Version) -> Stored:
    """Return what a version of a claim says; parts that are not of the API are left out."""
    obj = version.object
    results = places.tables(obj, "status.allocation.devices.results[]")
    reserved = itertools.islice(places.each(obj, "status.reservedFor[].name"), _PODS_MAX)
    return Stored(
        version=version.resource_version,
        devices=tuple(
            "/".join(str(item.get(key)) for key in _DEVICE)
            for item in results
            if not version.is_gone
        ),
        pods=tuple(map(str, reserved)),
        is_ending=bool(places.value(obj, "metadata.deletionTimestamp")),
        is_gone=version.is_gone,
    )


def differing(before: Stored | None, after: Stored, device: str) -> Iterator[str]:
    """Yield what a version of a claim says that the one before did not, each as a predicate."""
    if after.is_gone:
        yield "is deleted"
        return
    if before is None:
        yield "is created"
        before = after._replace(devices=(), pods=(), is_ending=False)
    had, has = before.devices, after.devices
    if (device in has) != (device in had):
        yield "gets the device" if device in has else "gives the device back"
    elif had != has:
        yield "gets another device" if has else "gives another device back"
    if after.is_ending and not before.is_ending:
        yield "is to be deleted"
    if added := [name for name in after.pods if name not in before.pods]:
        yield f"is reserved for {', '.join(added)}"
    if left := [name for name in before.pods if name not in after.pods]:
        yield f"is no longer reserved for {', '.join(left)}"


# ------------------------------------------------------------------------------------ commits


def _commits(race: Race) -> Iterator[tuple[int, Event]]:
    for holder, letter in race.claims:
        yield from _of_claim(race, holder, letter)
        for pod in holder.pods:
            bound = race.writes.binding(holder.namespace, pod)
            if bound is not None:
                text = f"{pod} of claim {letter} is bound to {bound.part('spec.nodeName')}"
                yield bound.resource_version, Event(bound.ts_ns, _COMMIT, 1, text)


def _of_claim(race: Race, holder: verdicts.Holder, letter: str) -> Iterator[tuple[int, Event]]:
    device, before = race.violation.device, None
    for version in race.writes.versions_of_claim(holder):
        now = stored(version)
        if before is not None and now.version <= before.version:
            continue  # listed again
        said = list(differing(before, now, device)) or ["changes in another way"]
        held = before is not None and device in before.devices
        rank = 2 if held == (device in now.devices) else 0
        text = f"claim {letter} {' and '.join(said)}"
        yield now.version, Event(version.ts_ns, _COMMIT, rank, text, (STORED, letter), now)
        before = now


def commit_times(race: Race) -> dict[int, int]:
    first = {version: event.ts_ns for version, event in _commits(race)}
    for version, ts_ns in _proofs(race, set(first)):
        if version in first:
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


def _placed(race: Race) -> Iterator[Event]:
    times = commit_times(race)
    for version, event in sorted(_commits(race), key=lambda item: item[0]):
        author = race.source.authors.get(version)
        by = f", written by {author.agent.partition(' ')[0][:_AGENT_MAX]}" if author else ""
        text = f"the API server stores version {version}: {event.text}{by}"
        yield event._replace(ts_ns=times[version], text=text)


def _proofs(race: Race, wanted: set[int]) -> Iterator[tuple[int, int]]:
    """Yield versions with times at which a record shows that they had been stored."""
    yield from ((at, ts_ns) for at in wanted for _, ts_ns in race.watches.arrivals(at))
    written = race.source.reads.writes
    yield from ((version, written[version].answered_ns) for version in wanted & written.keys())
    for step in race.steps:
        version = str(step.fields.get("version"))
        if step.name == _WRITTEN and version.isdecimal() and len(version) <= _VERSION_MAX:
            yield int(version), step.ts_ns
    for effect in race.violation.faults:
        if plan_facts.effect(effect) in _OF_STORED:
            yield effect.resource_version, effect.begun_ns


_OF_STORED = (Effect.LOST_ANSWER, Effect.LATE_EVENT, Effect.ENDED_WATCH)
"""Effects on events and answers of versions that have been stored."""

# ------------------------------------------------------------------------- the scheduler's part

_SKIPPED = frozenset({"scheduling.started", "filter.started"})
_WRITTEN = "pre-bind.written"
_CHANGES = {
    "in-flight.added": (PLANNED, True),
    "in-flight.removed": (PLANNED, False),
    "allocated-devices.inserted": (BOOKED, True),
    "allocated-devices.removed": (BOOKED, False),
}
"""Step -> the kind of the fact that it changes, and how."""


def _steps(race: Race) -> Iterator[Event]:
    letters = race.letters
    names = race.source.names | {uid: f"claim {letter}" for uid, letter in letters.items()}
    for step in race.steps:
        text, (fact, value) = "", _changed(step, letters, race.violation.device)
        if step.name not in _SKIPPED and step_sentences.has_sentence(step.name, step.fields):
            text = step_sentences.sentence(step.thread, step.name, step.fields, names)
        if text or fact:
            rank = 1 if step.name.startswith(explaining.OF_SCHEDULER) else 3
            is_other = "claim" in step.fields and step.fields["claim"] not in letters
            order = _ANSWER if step.name == _WRITTEN else _STEP
            yield Event(step.ts_ns, order, rank + 2 * is_other, text, fact, value)


def _changed(step: records.Step, letters: Mapping[str, str], device: str) -> tuple[Fact, bool]:
    """Return what a step changes in what the scheduler knows; no fact: nothing that is shown."""
    kind, value = _CHANGES.get(step.name, ("", False))
    process = step.thread.rpartition("/")[0] or watches.SCHEDULER  # of only one: without a name
    letter = letters.get(str(step.fields.get("claim")), "")
    is_device = step.fields.get("device") == device
    if kind == BOOKED and is_device:
        return (BOOKED, process), value
    if kind == PLANNED and letter and (is_device or not value):
        return (PLANNED, process, letter), value
    return (), False


def _arrivals(race: Race) -> Iterator[Event]:
    for holder, letter in race.claims:
        for process, ts_ns in race.watches.arrivals(holder.held_from_rv):
            told = f"version {holder.held_from_rv} of claim {letter}"
            text = f"the watch of {process} delivers {told}"
            if race.watches.are_sent:
                text = f"{process} is sent {told}"
            yield Event(ts_ns, _ANSWER, 1, text)


# ----------------------------------------------------------------- faults, processes and threads


def _faults(race: Race) -> Iterator[Event]:
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
    text = _HELD_BACK.get(plan_facts.effect(effect), "")
    return text.format(version=effect.resource_version, name=named)


def _processes(race: Race) -> Iterator[Event]:
    journal = race.source.history.processes
    for item in journal.records if journal else ():
        match item:
            case records.ProcessStarted():
                text = "starts"
            case records.ProcessPaused():
                text = f"is paused ({item.fault})"
            case records.ProcessResumed():
                text = "goes on"
            case records.ProcessEnded() if item.fault or item.lease_lost or not item.expected:
                why = item.fault or "its lease is lost" * item.lease_lost
                text = f"ends ({why})" if why else "ends"
            case _:
                continue  # among them those that end as planned
        if watches.is_scheduler(item.process):
            fact = (ENDED, item.process) if isinstance(item, records.ProcessEnded) else ()
            yield Event(item.ts_ns, _FAULT, 1, f"{item.process} {text}", fact)


def _thread_holds(race: Race) -> Iterator[Event]:
    for held in race.source.held_in_orders:
        yield Event(held.begun_ns, _STEP, 1, held.text)
        yield Event(held.ended_ns or held.begun_ns, _ANSWER, 1, f"{held.who} goes on")
