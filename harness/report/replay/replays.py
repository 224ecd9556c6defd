"""The replay of a double allocation: its moments in order, through which the page steps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from harness.report import escaping
from harness.report.replay import race_events

MOMENTS_MAX = 28
"""Moments of one race; those that decide least are left out."""
REPLAYS_MAX = 3
"""Double allocations of a page that are replayed."""
_HELD = "the device is held by"
TEXT_MAX = 240
"""Characters of a sentence."""
_LATER_NS = 2_000_000_000
"""Events later than this after the second allocation are left out, except who holds the device."""
_EARLIER_NS = 10_000_000_000
"""Events earlier than this before the first one are left out."""


_Facts = Mapping[race_events.Fact, Any]


class Part(NamedTuple):
    """A part of the state, which has changed."""

    title: str
    text: str
    kind: str = ""
    """`no`: it is what makes the race; empty otherwise."""


class Moment(NamedTuple):
    """Something that happened, and the state after it."""

    ms: str
    """Time in ms, relative to that of the picture."""
    text: str
    parts: Sequence[Part]
    """The parts of the state that were different in the moment before; of the first one, all."""


class Replay(NamedTuple):
    """The moments of a double allocation."""

    moments: Sequence[Moment]
    left_out: int
    start: int
    """Number of the moment from which on both claims hold the device, from 1."""
    unknown: str
    """The parts of the state that no record shows, as a sentence; empty: there are none."""


def replay(race: race_events.Race, *, zero_ns: int) -> Replay | None:
    """Return the moments of a race; None if the versions of its claims are not known."""
    events = race_events.events(race)
    first, second = race.violation.holders
    if not all(map(race.writes.versions_of_claim, (first, second))):
        return None
    shown, left_out = _chosen(race, events)
    moments = list(_moments(race, events, shown, zero_ns))
    both = (
        number
        for number, moment in enumerate(moments, start=1)
        if any(part.title == _HELD and part.kind for part in moment.parts)
    )
    return Replay(moments, left_out, next(both, 1), _unknown(race))


def _chosen(race: race_events.Race, events: Sequence[race_events.Event]) -> tuple[set[int], int]:
    """Return the indexes of the events that are shown, and how many are left out."""
    first, second = race.violation.holders
    begun = [event.ts_ns for event in events if event.fact[:1] == (race_events.PLANNED,)]
    begun += [effect.begun_ns for effect in race.violation.faults]
    earliest = first.allocated_ts_ns - _EARLIER_NS
    begin = min([first.allocated_ts_ns, *(ts_ns for ts_ns in begun if ts_ns >= earliest)])
    released = [ts_ns for item in (first, second) if (ts_ns := item.released_ts_ns) is not None]
    end = min([second.allocated_ts_ns + _LATER_NS, *released])
    about = [
        index
        for index, event in enumerate(events)
        if event.text and (begin <= event.ts_ns <= end or event.rank == 0)
    ]

    def weight(index: int) -> tuple[int, int]:
        return events[index].rank, abs(events[index].ts_ns - second.allocated_ts_ns)

    kept = sorted(about, key=weight)[:MOMENTS_MAX]
    return set(kept), len(about) - len(kept)


def _moments(
    race: race_events.Race, events: Sequence[race_events.Event], shown: set[int], zero_ns: int
) -> Iterator[Moment]:
    facts, before = dict[race_events.Fact, Any](), list[Part]()
    for index, event in enumerate(events):
        if event.fact:
            facts[event.fact] = event.value
        if index in shown:
            now = list(_parts(race, facts, event.ts_ns))
            text = escaping.shortened(event.text, TEXT_MAX)
            changed = [part for part in now if part not in before]
            yield Moment(f"{(event.ts_ns - zero_ns) / 1e6:+,.3f}", text, changed)
            before = now


def _parts(race: race_events.Race, facts: _Facts, ts_ns: int) -> Iterator[Part]:
    device = race.violation.device
    stored: dict[str, race_events.Stored] = {
        fact[1]: value for fact, value in facts.items() if fact[0] == race_events.STORED
    }
    for letter in "AB":
        words = stored[letter].words(device) if letter in stored else "not there"
        yield Part(f"claim {letter}, as stored", words)
    held = [letter for letter, known in sorted(stored.items()) if device in known.devices]
    yield Part(_HELD, _claims(held) or "no claim", "no" if len(held) > 1 else "")
    if _has_books(race):
        planned = _true(facts, race_events.PLANNED)
        booked = [process for (process,) in _true(facts, race_events.BOOKED)]
        are_several = len({process for process, _ in planned} | {*booked}) > 1
        names = f": {', '.join(booked)}" * are_several
        yield Part("planned, in flight", _by_process(planned) or "no claim")
        yield Part("in the scheduler's allocated devices", f"yes{names}" if booked else "no")
    if watched := race.watches.of_processes:
        ended = {process for (process,) in _true(facts, race_events.ENDED)}
        seen = {name: one.at(ts_ns) for name, one in watched.items() if name not in ended}
        yield _watch(race, seen, is_held="A" in held)


def _true(facts: _Facts, kind: str) -> list[tuple[str, ...]]:
    """Return what the facts of a kind are of that are so; a process that ended knows nothing."""
    ended = {fact[1] for fact in facts if fact[0] == race_events.ENDED}
    is_end = kind == race_events.ENDED
    found = (fact[1:] for fact, value in facts.items() if fact[0] == kind and value)
    return sorted(of for of in found if is_end or of[0] not in ended)


def _watch(race: race_events.Race, seen: Mapping[str, int], *, is_held: bool) -> Part:
    texts, kind = [], ""
    for name, version in seen.items():
        text = f"up to version {version}" if version else "not recorded"
        if is_held and 0 < version < race.violation.holders[0].held_from_rv:
            text, kind = f"{text}: not the allocation of claim A", "no"
        texts.append(f"{name}: {text}" if len(seen) > 1 else text)
    title = "claims, as sent to it" if race.watches.are_sent else "watch of claims"
    return Part(title, "; ".join(texts) or "no scheduler watches", kind)


def _claims(letters: Sequence[str]) -> str:
    return f"claim{'s' * (len(letters) > 1)} {' and '.join(letters)}" if letters else ""


def _by_process(items: Iterable[tuple[str, ...]]) -> str:
    named: dict[str, list[str]] = {}
    for process, letter in sorted(items):
        named.setdefault(process, []).append(letter)
    if len(named) == 1:
        return "".join(map(_claims, named.values()))
    return "; ".join(f"{name}: {_claims(letters)}" for name, letters in named.items())


def _has_books(race: race_events.Race) -> bool:
    return any(step.name.startswith(("in-flight.", "allocated-devices.")) for step in race.steps)


def _unknown(race: race_events.Race) -> str:
    parts = {
        "what the scheduler had planned": _has_books(race),
        "how far its watch was": race.watches.of_processes,
        "who made each write (there is no audit log)": race.source.authors,
    }
    missing = [text for text, known in parts.items() if not known]
    return f"Not recorded in this run: {', '.join(missing)}." if missing else ""
