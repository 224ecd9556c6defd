"""Faults on demand: which requests, responses and events they apply to, and a record of it.

A fault has a *point*: `request` (received, nothing is committed yet), `response` (committed, not
sent yet), or `event` (about to be sent on a watch). Of what it matches it passes over the first
`skip`, then takes each `every`-th, with its probability and seed, until its count is used up. Every
application is recorded with its time, object and resourceVersion.
"""

import collections
import functools
import itertools
import random
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from harness import clocks
from harness.faults import matching

Point = Literal["request", "response", "event"]
Resume = Callable[[], None]
APPLIED_MAX = 100_000
"""Maximum number of recorded applications; the oldest are dropped."""


class _Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Block(_Action, frozen=True, tag="block"):
    """Hold it until the fault is released or removed."""

    sever: bool = False
    """Close the connection of a request meanwhile; the request is carried out all the same."""


class Delay(_Action, frozen=True, tag="delay"):
    """Delay it; an event is due this long after it happened, and later ones never overtake it."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Reject(_Action, frozen=True, tag="reject"):
    """Respond with this Status instead; at `response` the commit stands."""

    code: Annotated[int, msgspec.Meta(ge=400, le=599)]
    reason: str = ""
    message: str = "injected by a fault"
    retry_after_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Lose(_Action, frozen=True, tag="lose"):
    """Close the connection without a response."""


class Truncate(_Action, frozen=True, tag="truncate"):
    """Reset the connection in the middle of the body, or of the event.

    Responses without a body are passed over.
    """


class Stale(_Action, frozen=True, tag="stale"):
    """Respond to a get or list with the state of some seconds ago, as a watch cache may.

    It passes over reads that ask for an exact or a newer version, and those whose result has not
    changed since.
    """

    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Overlook(_Action, frozen=True, tag="overlook"):
    """Delete an object that had no finalizers at some time since then, in spite of those it has.

    It passes over every other deletion.
    """

    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Drop(_Action, frozen=True, tag="drop"):
    """Close the watch's connection before the event."""

    held: bool = False
    """Hold the event, and those after it, until the fault is released or removed; then close."""


class Gone(_Action, frozen=True, tag="gone"):
    """End the watch with 410 instead of the event."""

    held: bool = False
    """Hold the event, and those after it, until the fault is released or removed; then end."""


class Omit(_Action, frozen=True, tag="omit"):
    """Do not send the bookmark; the one that ends the initial events is always sent."""


def is_held_end(action: _Action | None) -> bool:
    """Return whether an action ends a watch, but not before its fault lets go."""
    return isinstance(action, Drop | Gone) and action.held


Action: TypeAlias = Block | Delay | Reject | Lose | Truncate | Stale | Overlook | Drop | Gone | Omit
IsPossible = Callable[[Action], bool]
_ACTIONS: dict[Point, tuple[type[Any], ...]] = {
    "request": (Block, Delay, Reject, Lose, Stale, Overlook),
    "response": (Block, Delay, Reject, Lose, Truncate),
    "event": (Block, Delay, Drop, Gone, Truncate, Omit),
}
_READS = ("get", "list")


class FaultSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The definition of a fault, as the admin API receives it."""

    point: Point
    action: Action
    match: matching.Match = matching.Match()
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of matches to pass over first."""
    every: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Take each n-th match after the skipped ones; 1: all."""
    count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of applications; None: no limit."""
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    seed: int = 0
    """Seed of the random numbers that `probability` is compared with."""
    name: str = ""
    """Name of the fault; generated if empty."""

    def __post_init__(self) -> None:
        if not isinstance(self.action, _ACTIONS[self.point]):
            known = ", ".join(str(kind.__struct_config__.tag) for kind in _ACTIONS[self.point])
            raise ValueError(  # noqa: TRY004 - msgspec turns it into a ValidationError
                f"expected one of the actions {known} at the point {self.point}"
            )
        if isinstance(self.action, Block) and self.action.sever and self.point != "request":
            raise ValueError(f"expected the point request for sever, got {self.point}")
        if isinstance(self.action, Omit) and self.match.event_types != ("BOOKMARK",):
            raise ValueError("expected eventTypes [BOOKMARK] for the action omit")
        if isinstance(self.action, Stale) and not set(self.match.verbs) <= set(_READS):
            raise ValueError("expected only the verbs get and list for the action stale")
        if isinstance(self.action, Overlook) and self.match.verbs != ("delete",):
            raise ValueError("expected only the verb delete for the action overlook")


class FaultTime(msgspec.Struct, frozen=True, rename="camel"):
    """A time, as text for people and as a monotonic clock in nanoseconds."""

    at: str
    monotonic_ns: int


def time_now() -> FaultTime:
    return FaultTime(clocks.wall_text_us(), clocks.monotonic_ns())


class Applied(msgspec.Struct, rename="camel"):
    """One application of a fault."""

    sequence: int
    fault: str
    point: Point
    action: Action
    facts: matching.Facts
    begun: FaultTime
    ended: FaultTime | None = None
    """When it was let go, or a delayed event sent; None while the fault holds or delays it."""
    note: str = ""
    """More to know about it, such as the age of the state that a stale read showed."""


class Fault:
    """A fault that was added, with its counters and what it holds."""

    def __init__(self, name: str, spec: FaultSpec) -> None:
        self.name, self.spec = name, spec
        self.matched_count = self.applied_count = 0
        self.held: dict[int, Resume] = {}
        """The calls that resume what it holds or delays, by sequence number."""
        self._dice = random.Random(spec.seed)

    @property
    def is_used_up(self) -> bool:
        return self.spec.count is not None and self.applied_count >= self.spec.count

    def may_apply_to(self, point: Point, facts: matching.Facts) -> bool:
        spec = self.spec
        return spec.point == point and not self.is_used_up and matching.matches(spec.match, facts)

    def applies_to(self, point: Point, facts: matching.Facts, is_possible: IsPossible) -> bool:
        """Return whether it applies; only a match counts and draws a random number."""
        spec = self.spec
        if not self.may_apply_to(point, facts) or not is_possible(spec.action):
            return False
        self.matched_count += 1
        position = self.matched_count - spec.skip
        if position < 1 or position % spec.every:
            return False
        return spec.probability >= 1.0 or self._dice.random() < spec.probability


class Faults:
    """The faults of one server."""

    def __init__(
        self,
        *,
        now: Callable[[], FaultTime] = time_now,
        call_later: Callable[[float, Resume], object],
    ) -> None:
        self._now, self._call_later = now, call_later
        self._faults: dict[str, Fault] = {}
        self._clients: dict[Point, frozenset[str]] = {}
        """The clients that faults of each point match; empty: any client."""
        self.has_event_faults = False
        """True if there is a fault for events; a plain attribute, read for each event."""
        self._numbers, self._sequences = itertools.count(1), itertools.count(1)
        self.applied: collections.deque[Applied] = collections.deque(maxlen=APPLIED_MAX)

    @property
    def last_sequence(self) -> int:
        return self.applied[-1].sequence if self.applied else 0

    def add(self, spec: FaultSpec) -> Fault:
        """Add a fault. Raises ValueError if the name is taken."""
        name = spec.name or f"fault-{next(self._numbers)}"
        if name in self._faults:
            raise ValueError(f"expected a name that is not taken, got {name}")
        fault = self._faults[name] = Fault(name, spec)
        self._note_clients()
        return fault

    def all(self) -> list[Fault]:
        return list(self._faults.values())

    def get(self, name: str) -> Fault:
        """Return the fault of this name. Raises KeyError if there is none."""
        return self._faults[name]

    def remove(self, name: str) -> Fault:
        """Remove a fault and resume what it holds. Raises KeyError if there is none."""
        fault = self._faults.pop(name)
        self._note_clients()
        self.release(fault)
        return fault

    def clear(self) -> None:
        for fault in self.all():
            self.remove(fault.name)

    def _note_clients(self) -> None:
        named: dict[Point, list[tuple[str, ...]]] = {}
        for fault in self._faults.values():
            named.setdefault(fault.spec.point, []).append(fault.spec.match.clients)
        self._clients = {
            point: frozenset(itertools.chain(*groups)) if all(groups) else frozenset()
            for point, groups in named.items()
        }
        self.has_event_faults = "event" in named

    def strike(
        self, point: Point, facts: matching.Facts, *, is_possible: IsPossible = lambda _: True
    ) -> Applied | None:
        """Apply the oldest fault that matches; return None if there is none.

        `is_possible` returns whether an action can apply here; a fault whose action cannot is
        passed over as if it did not match.
        """
        for fault in self._faults.values():
            if fault.applies_to(point, facts, is_possible):
                return self._apply(fault, facts)
        return None

    def wants(self, point: Point, client: str | None = None) -> bool:
        """Return whether there is a fault for this point; called for every request.

        With `client`: whether there is one that may match this client.
        """
        clients = self._clients.get(point)
        return clients is not None and (client is None or not clients or client in clients)

    def wait(self, applied: Applied, resume: Resume) -> None:
        """Record the end and call `resume` after the delay, or when the fault lets go."""
        self.hold(applied, functools.partial(self._end, applied, resume))

    def hold(self, applied: Applied, resume: Resume, *, age_s: float = 0.0) -> None:
        """Call `resume` after the delay, or when the fault is released or removed.

        `age_s` of the delay are over. The caller records the end (see `end`).
        """
        fault = self._faults.get(applied.fault)
        if fault is None:
            resume()
            return
        fault.held[applied.sequence] = resume
        if isinstance(applied.action, Delay):
            seconds = max(applied.action.seconds - age_s, 0.0)
            self._call_later(seconds, functools.partial(self._let_go, fault, applied.sequence))

    def end(self, applied: Applied) -> None:
        applied.ended = self._now()

    def release(self, fault: Fault) -> int:
        """Resume everything that a fault holds or delays and return how much that was."""
        held, fault.held = fault.held, {}
        for resume in held.values():
            resume()
        return len(held)

    def _let_go(self, fault: Fault, sequence: int) -> None:
        resume = fault.held.pop(sequence, None)
        if resume is not None:  # else it was released before
            resume()

    def _apply(self, fault: Fault, facts: matching.Facts) -> Applied:
        fault.applied_count += 1
        begun = self._now()
        action = fault.spec.action
        lasts = isinstance(action, Block | Delay) or is_held_end(action)
        applied = Applied(
            next(self._sequences),
            fault.name,
            fault.spec.point,
            action,
            facts,
            begun,
            None if lasts else begun,
        )
        self.applied.append(applied)
        return applied

    def _end(self, applied: Applied, resume: Resume) -> None:
        self.end(applied)
        resume()
