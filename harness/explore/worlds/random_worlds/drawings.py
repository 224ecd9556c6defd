"""A drawn world as data: parts that can each be left out, and numbers that can be lowered."""

import dataclasses
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from harness import concurrency
from harness.apiserver.storage import watch_cache
from harness.model.objects import Object

_T = TypeVar("_T")


class DrawingStream:
    """Draws parts of a world. Equal seeds give equal worlds."""

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream
        self._features: dict[str, None] = {}

    @property
    def features(self) -> tuple[str, ...]:
        """The features drawn so far, each once."""
        return tuple(self._features)

    def note(self, feature: str) -> None:
        """Remember a feature."""
        self._features[feature] = None

    def chance(self, probability: float, feature: str = "") -> bool:
        """Return True with this probability, and remember the feature then."""
        is_drawn = self._stream.random() < probability
        if is_drawn and feature:
            self.note(feature)
        return is_drawn

    def one_of(self, options: Sequence[_T]) -> _T:
        """Return one of several options, all equally likely."""
        return self._stream.choice(options)

    def weighted(self, options: Sequence[tuple[_T, float]]) -> _T:
        values = [value for value, _ in options]
        return self._stream.choices(values, [weight for _, weight in options])[0]

    def some_of(self, options: Sequence[_T], count: int) -> list[_T]:
        """Return that many different options."""
        return self._stream.sample(options, min(count, len(options)))

    def number(self, least: int, most: int) -> int:
        """Return a number in these bounds."""
        return self._stream.randint(least, most)


class Moments:
    """Watches the commits of a run; each moment happens once."""

    def __init__(self) -> None:
        self._events: dict[str, concurrency.Event] = {}
        self._allocated: set[str] = set()
        self.allocations: concurrency.Queue[str] = concurrency.Queue("allocations")
        """The name of a claim each time it gets an allocation."""
        self.recorded: dict[str, list[str]] = {}
        """Pod -> the names of its generated claims, as first recorded in its status."""

    def wait(self, moment: str) -> None:
        """Wait until a moment has come."""
        self._event(moment).wait()

    def on_commit(self, commit: watch_cache.Commit) -> None:
        for moment in self._of(commit):
            self._event(moment).set()

    def _event(self, moment: str) -> concurrency.Event:
        if moment not in self._events:
            self._events[moment] = concurrency.Event(f"moment {moment}")
        return self._events[moment]

    def _of(self, commit: watch_cache.Commit) -> Iterator[str]:
        name, data = commit.object.name, commit.object.data
        if commit.resource.plural == "pods" and commit.type != "DELETED":
            if b'"nodeName"' in data:
                yield f"bound {name}"
            if name not in self.recorded and b'"resourceClaimStatuses"' in data:
                statuses = commit.object.document()["status"]["resourceClaimStatuses"]
                names = [item.get("resourceClaimName") for item in statuses]
                self.recorded[name] = [claim for claim in names if claim]
                yield f"recorded {name}"
        elif commit.resource.plural == "resourceclaims":
            if b'"allocation"' in data and commit.type != "DELETED":
                if name not in self._allocated:
                    self._allocated.add(name)
                    self.allocations.put(name)
                    yield f"allocated {name}"
            elif name in self._allocated:
                self._allocated.discard(name)
                yield f"freed {name}"


Kind = Literal["pool", "claim", "pod", "action", "actor", "fault"]
START, BEGIN, ANY_TIME, AT_REST = "start", "begin", "any-time", "at-rest"
"""When a part happens: before the run, at its beginning, whenever the strategy lets it, or when all
is at rest.

Other moments are those of an object: `bound pod-1`, `allocated claim-1`, `freed claim-1`.
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An object with what belongs to it, an actor, something that another client does, or a fault.

    A part without one that it needs is left out.
    """

    name: str
    kind: Kind
    needs: tuple[str, ...] = ()
    documents: tuple[Object, ...] = ()
    """The objects to create, in this order."""
    when: str = START
    does: str = ""
    """The method of `actions.Actions`; empty: the objects are created."""
    target: str = ""
    """The name of the object that something is done to."""
    is_own: bool = False
    """True if it is there only for the parts that need it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawn world."""

    parts: tuple[Part, ...]
    numbers: Mapping[str, int]
    """Numbers that can be lowered, such as that of binding threads."""
    nodes: tuple[str, ...] = ()
    """The names of the nodes, which are always there."""
    features: tuple[str, ...]
    """The features that it has, each once, as `request: All devices`."""
    is_of_node: bool = False
    """True if it is about the claims of one node's kubelet, with no scheduler."""

    def included(self, sizes: Mapping[str, int]) -> "Drawing":
        """Return the world without the parts whose size is 0, and without those that need them."""
        kept = {part.name: part for part in self.parts if sizes.get(part.name, 1)}
        while missing := {name for name, part in kept.items() if not set(part.needs) <= {*kept}}:
            kept = {name: part for name, part in kept.items() if name not in missing}
        needed = {name for part in kept.values() for name in part.needs}
        parts = [part for part in kept.values() if part.name in needed or not part.is_own]
        return dataclasses.replace(self, parts=tuple(parts))

    def of_kind(self, kind: Kind) -> Iterator[Part]:
        return (part for part in self.parts if part.kind == kind)

    def has(self, names: Collection[str]) -> bool:
        """Return whether one of these parts is there."""
        return any(part.name in names for part in self.parts)

    def does(self, *actions: str) -> bool:
        """Return whether one of these actions happens."""
        return any(part.does in actions for part in self.parts)
