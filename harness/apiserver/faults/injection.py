"""Faults on demand: which request, answer or event one befalls, and what was done. No bytes, no connections in here.

A fault has a *point*: `request` (it has arrived, nothing is committed), `response` (it is committed, nobody was told), or `event` (a
watch is about to show it). It befalls what it matches, until its count is used up, with its probability, by its own seed. What
befell whom is kept, with time and resourceVersion, so that a recorder can write windows of faults.
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
"""Kept; the oldest are forgotten."""


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Whom a fault befalls: all that is given must fit."""

    user_agent: str = ""
    """How the client's User-Agent begins."""
    methods: tuple[str, ...] = ()
    path: str = ""
    """A shell pattern for the path, without its query: `*/pods/*/binding`."""
    name: str = ""
    """A shell pattern for the object's name."""
    event_types: tuple[Literal["ADDED", "MODIFIED", "DELETED"], ...] = ()


class _Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Block(_Action, frozen=True, tag="hold"):
    """Wait until the fault is released or removed."""


class Delay(_Action, frozen=True, tag="delay"):
    """Wait so long."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Reject(_Action, frozen=True, tag="answer"):
    """Answer with this Status instead; at `response` what was committed stays committed."""

    code: Annotated[int, msgspec.Meta(ge=400, le=599)]
    reason: str = ""
    message: str = "injected by a fault"
    retry_after_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Lose(_Action, frozen=True, tag="lose"):
    """Close the connection without an answer."""


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
    """A fault as it is asked for."""

    point: Point
    action: Action
    match: Match = Match()
    count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """How often; None: until it is removed."""
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    seed: int = 0
    """Of the probability's dice."""
    name: str = ""
    """Of the fault; one is made when it is empty."""

    def __post_init__(self) -> None:
        if not isinstance(self.action, _ACTIONS[self.point]):
            known = ", ".join(str(kind.__struct_config__.tag) for kind in _ACTIONS[self.point])
            raise ValueError(  # noqa: TRY004 - msgspec turns it into a ValidationError
                f"expected one of the actions {known} at the point {self.point}"
            )


class Facts(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of a request, an answer or an event."""

    method: str
    path: str
    user_agent: str
    name: str = ""
    event_type: str = ""
    resource_version: int = 0
    """Of the commit that it shows; before a commit the newest one."""


class FaultTime(msgspec.Struct, frozen=True, rename="camel"):
    """A time: one to read, one to compare."""

    at: str
    monotonic_ns: int


class Applied(msgspec.Struct, rename="camel"):
    """That a fault befell something."""

    sequence: int
    fault: str
    point: Point
    action: Action
    facts: Facts
    begun: FaultTime
    ended: FaultTime | None = None
    """None while it holds or delays."""


class Fault:
    """A fault that was asked for."""

    def __init__(self, name: str, spec: FaultSpec) -> None:
        self.name, self.spec = name, spec
        self.applied_count = 0
        self.held: list[tuple[Applied, Resume]] = []
        self._dice = random.Random(spec.seed)

    @property
    def is_used_up(self) -> bool:
        """Whether it befalls nothing any more."""
        return self.spec.count is not None and self.applied_count >= self.spec.count

    def befalls(self, point: Point, facts: Facts) -> bool:
        """Whether it befalls this; the dice are rolled for what matches only."""
        if self.spec.point != point or self.is_used_up or not matches(self.spec.match, facts):
            return False
        return self.spec.probability >= 1.0 or self._dice.random() < self.spec.probability


def matches(match: Match, facts: Facts) -> bool:
    """Whether everything that is given fits."""
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
        """Begin; ValueError when the name is taken."""
        name = spec.name or f"fault-{next(self._numbers)}"
        if name in self._faults:
            raise ValueError(f"expected a name that is not taken, got {name}")
        fault = self._faults[name] = Fault(name, spec)
        return fault

    def all(self) -> list[Fault]:
        """Every fault, oldest first."""
        return list(self._faults.values())

    def get(self, name: str) -> Fault:
        """KeyError when there is none."""
        return self._faults[name]

    def remove(self, name: str) -> Fault:
        """End it, and let go on what it holds; KeyError when there is none."""
        fault = self._faults.pop(name)
        self.release(fault)
        return fault

    def clear(self) -> None:
        """End every fault."""
        for fault in self.all():
            self.remove(fault.name)

    def strike(self, point: Point, facts: Facts) -> Applied | None:
        """What befalls this now, if anything; the oldest fault that does, wins."""
        for fault in self._faults.values():
            if fault.befalls(point, facts):
                return self._apply(fault, facts)
        return None

    def wants(self, point: Point) -> bool:
        """Whether there is a fault for this point at all: asked for every request, so it has to be quick."""
        return any(fault.spec.point == point for fault in self._faults.values())

    def wait(self, applied: Applied, resume: Resume) -> None:
        """Go on when the fault is over."""
        if isinstance(applied.action, Delay):
            self._call_later(applied.action.seconds, lambda: self._end(applied, resume))
        elif applied.fault in self._faults:
            self._faults[applied.fault].held.append((applied, resume))
        else:
            self._end(applied, resume)

    def release(self, fault: Fault) -> int:
        """Let go on what it holds now; how much that was."""
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
