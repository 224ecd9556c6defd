"""The replay of a double allocation: its moments in order, through which the page steps."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from harness.checks import verdicts
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


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A part of the state, which has changed."""

    title: str
    text: str
    kind: str
    """`no`: it is what makes the race; empty otherwise."""


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, and the state after it."""

    ms: str
    """Time in ms, relative to that of the picture."""
    text: str
    parts: Sequence[Part]
    """The parts of the state that were different in the moment before; of the first one, all."""


@dataclasses.dataclass(frozen=True, slots=True)
class Replay:
    """The moments of a double allocation."""

    moments: Sequence[Moment]
    left_out: int
    start: int
    """Number of the moment from which on both claims hold the device, from 1."""
    unknown: str
    """The parts of the state that no record shows, as a sentence; empty: there are none."""


_Part = tuple[str, Callable[[race_states.State, int], race_states.Cell]]
"""The title, and the cell of a state at a time."""


def replay(race: race_events.Race, *, zero_ns: int) -> Replay | None:
    """Return the moments of a race; None if the versions of its claims are not known."""
    events = race_events.events(race)
    first, second = race.violation.holders
    if not all(map(race.writes.versions_of_claim, (first, second))):
        return None
    shown, left_out = _chosen(race, events)
    moments = list(_moments(race, events, shown, zero_ns))
    return Replay(
        moments=moments,
        left_out=left_out,
        start=_start(moments),
        unknown=_unknown(race),
    )


def _start(moments: Sequence[Moment]) -> int:
    both = (
        number
        for number, moment in enumerate(moments, start=1)
        if any(part.title == _HELD and part.kind for part in moment.parts)
    )
    return next(both, 1)


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
    plans = [_plan_ns(race, holder) for holder in race.violation.holders]
    return min([*faults, *plans])


def _plan_ns(race: race_events.Race, holder: verdicts.Holder) -> int:
    """Return when an allocation was planned; if that is not known, when it was sent or seen."""
    until = holder.allocated_ts_ns
    planned = [
        step.ts_ns
        for step in race.steps
        if step.name == "in-flight.added"
        and step.fields.get("claim") == holder.uid
        and step.fields.get("device") == race.violation.device
        and step.ts_ns <= until
    ]
    sent = [item.sent_ns for item in race.calls_of(holder) if item.sent_ns <= until]
    return min([until, *planned[-1:], *sent[-1:]])


def _parts(race: race_events.Race) -> Iterator[_Part]:
    """Yield the parts of the state; what no record shows is left out."""
    yield "claim A, as stored", lambda state, _: state.claim("A")
    yield "claim B, as stored", lambda state, _: state.claim("B")
    yield _HELD, lambda state, _: state.device()
    if _has_books(race):
        yield "planned, in flight", lambda state, _: state.in_flight()
        yield "in the scheduler's allocated devices", lambda state, _: state.allocated()
    if _has_calls(race):
        yield "status write without an answer", lambda state, _: state.writes()
    if race.positions.processes:
        title = "claims, as sent to it" if race.positions.are_sent else "watch of claims"
        yield title, lambda state, ts_ns: state.watch(race.positions, ts_ns)


def _has_books(race: race_events.Race) -> bool:
    return any(step.name.startswith(("in-flight.", "allocated-devices.")) for step in race.steps)


def _has_calls(race: race_events.Race) -> bool:
    return any(race.calls_of(holder) for holder in race.violation.holders)


def _unknown(race: race_events.Race) -> str:
    missing = []
    if not _has_books(race):
        missing.append("what the scheduler had planned")
    if not _has_calls(race):
        missing.append("when it sent its writes")
    if not race.positions.processes:
        missing.append("how far its watch was")
    if not race.authors:
        missing.append("who made each write (there is no audit log)")
    return f"Not recorded in this run: {', '.join(missing)}." if missing else ""


def _moments(
    race: race_events.Race,
    events: Sequence[race_events.Event],
    shown: set[int],
    zero_ns: int,
) -> Iterator[Moment]:
    state = race_states.State(race.violation)
    columns, before = list(_parts(race)), dict[str, race_states.Cell]()
    for index, event in enumerate(events):
        if event.change is not None:
            event.change(state)
        if index not in shown:
            continue
        stored = race.writes.newest(event.ts_ns), race.positions.newest(event.ts_ns)
        state.newest = max(state.newest, *stored)
        now = {title: cell(state, event.ts_ns) for title, cell in columns}
        changed = [
            Part(title, cell.text, cell.kind)
            for title, cell in now.items()
            if before.get(title) != cell
        ]
        before = now
        ms = f"{(event.ts_ns - zero_ns) / 1e6:+,.3f}"
        yield Moment(ms, _cut(event.text), changed)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
