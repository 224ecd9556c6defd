"""The replay of a double allocation: its moments in order, through which the page steps."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.report import escaping
from harness.report.causes import explaining
from harness.report.replay import race_events, race_states

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
    begin = max(_begin_ns(race), first.allocated_ts_ns - _EARLIER_NS)
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


def _begin_ns(race: race_events.Race) -> int:
    """Return when the race begins: with the first plan, write or fault that belongs to it."""
    faults = [effect.begun_ns for effect in race.violation.faults]
    plans = [_plan_ns(race, number) for number in range(len(race.violation.holders))]
    return min([*faults, *plans])


def _plan_ns(race: race_events.Race, number: int) -> int:
    holder = race.violation.holders[number]
    until = holder.allocated_ts_ns
    before = [step for step in race.steps if step.ts_ns <= until]
    planned = explaining.planned(race.violation, number, before)
    sent = [item.sent.ts_ns for item in race.calls_of(holder) if item.sent.ts_ns <= until]
    return min([until, *([planned.ts_ns] if planned else []), *sent[-1:]])


def _moments(
    race: race_events.Race, events: Sequence[race_events.Event], shown: set[int], zero_ns: int
) -> Iterator[Moment]:
    state, before = race_states.State(race.violation.device), list[Part]()
    for index, event in enumerate(events):
        if event.change is not None:
            event.change(state)
        if index not in shown:
            continue
        stored = race.writes.newest(event.ts_ns), race.watches.newest(event.ts_ns)
        state.newest = max(state.newest, *stored)
        now = list(_parts(race, state, event.ts_ns))
        text = escaping.shortened(event.text, TEXT_MAX)
        changed = [part for part in now if part not in before]
        yield Moment(f"{(event.ts_ns - zero_ns) / 1e6:+,.3f}", text, changed)
        before = now


def _parts(race: race_events.Race, state: race_states.State, ts_ns: int) -> Iterator[Part]:
    """Yield the parts of the state; what no record shows is left out."""
    yield Part("claim A, as stored", state.claim("A"))
    yield Part("claim B, as stored", state.claim("B"))
    held = state.holders()
    yield Part(_HELD, race_states.claims(held) or "no claim", "no" if len(held) > 1 else "")
    if _has_books(race):
        yield Part("planned, in flight", race_states.by_process(state.planned) or "no claim")
        yield Part("in the scheduler's allocated devices", state.allocated())
    if _has_calls(race):
        under_way = race_states.by_process(state.under_way)
        yield Part("status write without an answer", under_way or "none")
    if race.watches.processes:
        yield _watch(race, state, ts_ns)


def _watch(race: race_events.Race, state: race_states.State, ts_ns: int) -> Part:
    running = [name for name in race.watches.processes if name not in state.ended]
    texts, kind = [], ""
    for name in running:
        position = race.watches.at(name, ts_ns)
        text = position.words(state.newest)
        if "A" in state.holders() and position.lacks(race.violation.holders[0].held_from_rv):
            text, kind = f"{text}: not the allocation of claim A", "no"
        texts.append(f"{name}: {text}" if len(running) > 1 else text)
    title = "claims, as sent to it" if race.watches.are_sent else "watch of claims"
    return Part(title, "; ".join(texts) or "no scheduler watches", kind)


def _has_books(race: race_events.Race) -> bool:
    return any(step.name.startswith(("in-flight.", "allocated-devices.")) for step in race.steps)


def _has_calls(race: race_events.Race) -> bool:
    return any(race.calls_of(holder) for holder in race.violation.holders)


def _unknown(race: race_events.Race) -> str:
    parts = {
        "what the scheduler had planned": _has_books(race),
        "when it sent its writes": _has_calls(race),
        "how far its watch was": race.watches.processes,
        "who made each write (there is no audit log)": race.source.authors,
    }
    missing = [text for text, known in parts.items() if not known]
    return f"Not recorded in this run: {', '.join(missing)}." if missing else ""
