"""Which visits of places are held: those that a script names, and those of a search."""

import collections
import dataclasses
import random
from collections.abc import Callable
from typing import Any

from harness import clocks
from harness.model import thread_places
from harness.threads import messages, traced_program

Tell = Callable[[messages.Happened], None]


@dataclasses.dataclass(slots=True)
class Hold:
    """A thread that stands at a place."""

    thread: int
    visit: traced_program.Visit
    name: str
    begun_ns: int
    until_ns: float
    quiet_ns: float
    """It ends, too, when nothing has stopped for this time."""
    during: collections.Counter[str]
    """Place -> visits by other threads meanwhile."""


@dataclasses.dataclass(slots=True)
class _Watched:
    """A place that a script looks at."""

    asked: messages.Watch
    place: thread_places.Place
    left: int
    """Visits before the one that it is about, with that one."""

    def covers(self, visit: traced_program.Visit) -> bool:
        return visit.point == self.place.point and self.is_between(visit.function, visit.caller)

    def is_between(self, function: str, caller: str) -> bool:
        if not thread_places.matches(self.place.function, function):
            return False
        return not self.place.caller or thread_places.matches(self.place.caller, caller)


class HoldRules:
    """Decides about each visit, and ends holds in time."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._watched: dict[str, _Watched] = {}
        self._holds: dict[int, Hold] = {}
        self._goroutines: dict[int, int] = {}
        self._last_ns = 0
        self._try: messages.Try | None = None
        self._random = random.Random()
        self._chosen: set[tuple[str, int]] = set()
        self._counts: collections.Counter[str] = collections.Counter()
        self._since_rest: collections.Counter[str] = collections.Counter()
        """Function -> visits since it became a place."""
        self._rest_ns = 0
        self._visitors: dict[str, set[int]] = {}
        """Type or package of functions -> goroutines that came to them in this try."""
        self.busy: set[str] = set()
        """Functions that a search has to leave."""

    def obey(self, command: messages.Command) -> list[int]:
        """Do what a run wants; return the threads that go on.

        Raises ValueError for a place that is none.
        """
        match command:
            case messages.Watch():
                place = thread_places.parse(command.place)
                self._watched[command.name] = _Watched(command, place, command.visit)
                self._say("watched", command.name)
            case messages.Release():
                self._watched.pop(command.name, None)
                held = [hold for hold in self._holds.values() if hold.name == command.name]
                return [self._end(hold, "released") for hold in held]
            case messages.Try():
                self._begin(command)
        return []

    def refuse(self, command: messages.Command, why: str) -> None:
        self._say("refused", command.name, text=why)

    def _begin(self, asked: messages.Try) -> None:
        """Begin a try; the one before has ended."""
        if self._try is not None:
            self._say("ended", self._try.name, counts=dict(self._counts), sharing=self._sharing())
        self._try, self._counts, self._visitors = asked, collections.Counter(), {}
        self._random.seed(asked.seed)
        self._chosen = set(asked.chosen)
        self._say("begun", asked.name)

    def has_rested(self) -> bool:
        if self._try is None or not self._try.rest_s:
            return False
        now = clocks.monotonic_ns()
        if now - self._rest_ns < self._try.rest_s * 1e9:
            return False
        self._rest_ns = now
        self._since_rest.clear()
        return True

    def over(self) -> list[int]:
        """Return the threads whose time at their places is over."""
        if not self._holds:
            return []
        now = clocks.monotonic_ns()
        over = [hold for hold in self._holds.values() if now >= hold.until_ns]
        quiet = [
            hold
            for hold in self._holds.values()
            if now - max(self._last_ns, hold.begun_ns) >= hold.quiet_ns and hold not in over
        ]
        if quiet:  # one after the other, so that their order is not left to chance
            over.append(quiet[0])
            self._last_ns = now
        return [self._end(hold, "expired") for hold in over]

    def next_s(self) -> float:
        """Return the time until a hold may be over, at most a second."""
        now = clocks.monotonic_ns()
        ends = [
            min(hold.until_ns, max(self._last_ns, hold.begun_ns) + hold.quiet_ns)
            for hold in self._holds.values()
        ]
        return min(1.0, max(0.0, (min(ends, default=now + 1e9) - now) / 1e9))

    def wants_return(self, function: str, caller: str) -> bool:
        if self._try is not None:
            return True
        return any(
            item.place.point == "return" and item.is_between(function, caller)
            for item in self._watched.values()
        )

    def decide(self, visit: traced_program.Visit) -> bool:
        self._last_ns = clocks.monotonic_ns()
        holding = None
        for item in [item for item in self._watched.values() if item.covers(visit)]:
            item.left -= 1
            if item.left > 0 or (item.asked.holds and holding):  # it is held once: the next one is
                continue
            del self._watched[item.asked.name]
            if item.asked.holds:
                holding = item.asked
            else:
                self._say("passed", item.asked.name, visit)
        is_drawn = self._try is not None and self._drawn(visit, self._try, may_hold=not holding)
        return self._hold(visit, holding.name, holding.hold_max_s) if holding else is_drawn

    def _drawn(self, visit: traced_program.Visit, tried: messages.Try, *, may_hold: bool) -> bool:
        place = place_of(visit)
        self._counts[place] += 1
        self._visitors.setdefault(_owner(visit.function), set()).add(visit.goroutine)
        for hold in self._holds.values():
            hold.during[place] += 1
        number = self._counts[place]
        self._since_rest[visit.function] += 1
        if self._since_rest[visit.function] > tried.busy_visits:
            self.busy.add(visit.function)
            return False
        if not may_hold:
            return False
        if (place, number) in self._chosen:
            return self._hold(visit, tried.name, tried.quiet_max_s, tried.quiet_s, number)
        if self._random.random() >= tried.probability:
            return False
        return self._hold(visit, tried.name, self._random.choice(tried.hold_s), number=number)

    def _sharing(self) -> dict[str, int]:
        """Return by how many goroutines what a place belongs to was used."""
        return {
            place: len(self._visitors[_owner(thread_places.parse(place).function)])
            for place in self._counts
        }

    def _hold(
        self,
        visit: traced_program.Visit,
        name: str,
        most_s: float,
        quiet_s: float = float("inf"),
        number: int = 0,
    ) -> bool:
        now = clocks.monotonic_ns()
        until_ns, during = now + most_s * 1e9, collections.Counter[str]()
        hold = Hold(visit.thread, visit, name, now, until_ns, quiet_s * 1e9, during)
        self._holds[visit.thread] = hold
        self._say("held", name, visit, visit=number)
        return True

    def _end(self, hold: Hold, kind: str) -> int:
        del self._holds[hold.thread]
        self._say(kind, hold.name, hold.visit, counts=dict(hold.during))
        return hold.thread

    def _say(
        self, kind: str, name: str, at: traced_program.Visit | None = None, **more: Any
    ) -> None:
        if at is not None:
            goroutine = self._goroutines.setdefault(at.goroutine, len(self._goroutines) + 1)
            more |= {
                "place": place_of(at),
                "function": at.function,
                "caller": at.caller,
                "goroutine": goroutine,
                "stack": at.stack() if kind == "held" else [],
            }
        now_ns = clocks.monotonic_ns()
        self._tell(messages.Happened(name=name, kind=kind, ts_ns=now_ns, **more))


def _owner(function: str) -> str:
    """Return the type of a method, or the package of a function."""
    return function.rpartition(".")[0]


def place_of(visit: traced_program.Visit) -> str:
    return str(thread_places.Place(visit.point, visit.function, visit.caller))
