"""Faults on demand: which requests, responses and events they apply to, and a record of it.

A fault has a *point*: `request` (received, nothing is committed yet), `response` (committed, not
sent yet), or `event` (about to be sent on a watch). It applies to what it matches, with its
probability and seed, until its count is used up. Every application is recorded with its time and
resourceVersion.
"""

import collections
import fnmatch
import itertools
import random
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

Point = Literal["request", "response", "event"]
Resume = Callable[[], None]
APPLIED_MAX = 100_000
"""Maximum number of recorded applications; the oldest are dropped."""


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Conditions that a request, response or event must meet; unset ones always match."""

    user_agent: str = ""
    """A prefix of the client's User-Agent."""
    methods: tuple[str, ...] = ()
    path: str = ""
    """A shell pattern for the path without its query: `*/pods/*/binding`."""
    name: str = ""
    """A shell pattern for the object's name."""
    event_types: tuple[Literal["ADDED", "MODIFIED", "DELETED"], ...] = ()


class _Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Block(_Action, frozen=True, tag="hold"):
    """Hold it until the fault is released or removed."""


class Delay(_Action, frozen=True, tag="delay"):
    """Delay it."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Reject(_Action, frozen=True, tag="answer"):
    """Respond with this Status instead; at `response` the commit stands."""

    code: Annotated[int, msgspec.Meta(ge=400, le=599)]
    reason: str = ""
    message: str = "injected by a fault"
    retry_after_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Lose(_Action, frozen=True, tag="lose"):
    """Close the connection without a response."""


class Drop(_Action, frozen=True, tag="drop"):
    """Close the watch's connection before the event."""


class Gone(_Action, frozen=True, tag="gone"):
    """End the watch with 410 instead of the event."""


Action = Block | Delay | Reject | Lose | Drop | Gone
_ACTIONS: dict[Point, tuple[type[Any], ...]] = {
    "request": (Block, Delay, Reject, Lose),
    "response": (Block, Delay, Reject, Lose),
    "event": (Block, Delay, Drop, Gone),
}


class FaultSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The definition of a fault, as the admin API receives it."""

    point: Point
    action: Action
    match: Match = Match()
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


class Facts(msgspec.Struct, frozen=True, rename="camel"):
    """The facts of a request, response or event that faults match, and that are recorded."""

    method: str
    path: str
    user_agent: str
    name: str = ""
    event_type: str = ""
    resource_version: int = 0
    """Version of the object in a response or event; otherwise the newest version of the store."""


class FaultTime(msgspec.Struct, frozen=True, rename="camel"):
    """A time, as text for people and as a monotonic clock in nanoseconds."""

    at: str
    monotonic_ns: int


class Applied(msgspec.Struct, rename="camel"):
    """One application of a fault."""

    sequence: int
    fault: str
    point: Point
    action: Action
    facts: Facts
    begun: FaultTime
    ended: FaultTime | None = None
    """None while the fault holds or delays it."""


class Fault:
    """A fault that was added, with its counters and what it holds."""

    def __init__(self, name: str, spec: FaultSpec) -> None:
        self.name, self.spec = name, spec
        self.applied_count = 0
        self.held: list[tuple[Applied, Resume]] = []
        self._dice = random.Random(spec.seed)

    @property
    def is_used_up(self) -> bool:
        """True if its count is used up, so that it no longer applies."""
        return self.spec.count is not None and self.applied_count >= self.spec.count

    def applies_to(self, point: Point, facts: Facts) -> bool:
        """Return whether it applies; a random number is drawn only if the facts match."""
        if self.spec.point != point or self.is_used_up or not matches(self.spec.match, facts):
            return False
        return self.spec.probability >= 1.0 or self._dice.random() < self.spec.probability


def matches(match: Match, facts: Facts) -> bool:
    """Return whether the facts meet every condition that is set."""
    return (
        facts.user_agent.startswith(match.user_agent)
        and (not match.methods or facts.method in match.methods)
        and (not match.path or fnmatch.fnmatchcase(facts.path, match.path))
        and (not match.name or fnmatch.fnmatchcase(facts.name, match.name))
        and (not match.event_types or facts.event_type in match.event_types)
    )


class Faults:
    """The faults of one server."""

    def __init__(
        self, *, now: Callable[[], FaultTime], call_later: Callable[[float, Resume], object]
    ) -> None:
        self._now, self._call_later = now, call_later
        self._faults: dict[str, Fault] = {}
        self._numbers, self._sequences = itertools.count(1), itertools.count(1)
        self.applied: collections.deque[Applied] = collections.deque(maxlen=APPLIED_MAX)

    def add(self, spec: FaultSpec) -> Fault:
        """Add a fault. Raises ValueError if the name is taken."""
        name = spec.name or f"fault-{next(self._numbers)}"
        if name in self._faults:
            raise ValueError(f"expected a name that is not taken, got {name}")
        fault = self._faults[name] = Fault(name, spec)
        return fault

    def all(self) -> list[Fault]:
        """Return every fault, oldest first."""
        return list(self._faults.values())

    def get(self, name: str) -> Fault:
        """Return the fault of this name. Raises KeyError if there is none."""
        return self._faults[name]

    def remove(self, name: str) -> Fault:
        """Remove a fault and resume what it holds. Raises KeyError if there is none."""
        fault = self._faults.pop(name)
        self.release(fault)
        return fault

    def clear(self) -> None:
        """Remove every fault."""
        for fault in self.all():
            self.remove(fault.name)

    def strike(self, point: Point, facts: Facts) -> Applied | None:
        """Apply the oldest fault that matches; return None if there is none."""
        for fault in self._faults.values():
            if fault.applies_to(point, facts):
                return self._apply(fault, facts)
        return None

    def wants(self, point: Point) -> bool:
        """Return whether there is a fault for this point; called for every request."""
        return any(fault.spec.point == point for fault in self._faults.values())

    def wait(self, applied: Applied, resume: Resume) -> None:
        """Call `resume` after the delay, or when the fault is released or removed."""
        if isinstance(applied.action, Delay):
            self._call_later(applied.action.seconds, lambda: self._end(applied, resume))
        elif applied.fault in self._faults:
            self._faults[applied.fault].held.append((applied, resume))
        else:
            self._end(applied, resume)

    def release(self, fault: Fault) -> int:
        """Resume everything that a fault holds and return how much that was."""
        held, fault.held = fault.held, []
        for applied, resume in held:
            self._end(applied, resume)
        return len(held)

    def _apply(self, fault: Fault, facts: Facts) -> Applied:
        fault.applied_count += 1
        begun = self._now()
        lasts = isinstance(fault.spec.action, Block | Delay)
        applied = Applied(
            next(self._sequences),
            fault.name,
            fault.spec.point,
            fault.spec.action,
            facts,
            begun,
            None if lasts else begun,
        )
        self.applied.append(applied)
        return applied

    def _end(self, applied: Applied, resume: Resume) -> None:
        applied.ended = self._now()
        resume()
