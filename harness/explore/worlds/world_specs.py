"""The description of a world: title, sizes, faults, and whether the correct subject fails in it."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from harness.apiserver.storage import watch_cache
from harness.explore.runtime import scheduler
from harness.scenario import hazards

Listener = Callable[[watch_cache.Commit], None]
SIZE_MAX = 64
"""Maximum of every size."""
CHOICES_MAX = 100_000
"""Choices after which a run counts as a livelock, unless its world says otherwise."""
PRIVATE_LOCKS = (
    ".objects",
    ".stopped",
    ".synced",
    "attempt",
    "binding-conditions",
    "device-class-resolver",
    "inventory",
    "node-list",
    "slice-tracker",
)
"""Name suffixes of locks that no two tasks want in a world of constant nodes and devices."""


def contended(*locks: str) -> tuple[str, ...]:
    """Return the private locks of a world in which two tasks may want one of these."""
    return tuple(name for name in PRIVATE_LOCKS if name not in locks)


class Size(NamedTuple):
    """A number that the user of a world can change."""

    value: int
    least: int
    """Its minimum."""


ANY_BINDERS = Size(0, 0)
"""The size `binders` of a world in which any number of pods may be bound at the same time."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hazard:
    """A way in which the correct subject still fails, as upstream does."""

    hypothesis: str
    """Its short name, such as H1 or kubernetes#128980, by which its page is found."""
    remedy: str | None
    """Name of the remedy with which the subject does not fail; None: there is none."""


class World(Protocol):
    """A world in one run."""

    @property
    def finding(self) -> str | None:
        """Description of the first violation in a commit; None if there is none."""

    def listen(self, listener: Listener) -> None:
        """Call the listener for every commit, beginning with those that created the world."""

    def start(self) -> None:
        """Start all parts and let them come to rest, without choices."""

    def begin(self) -> None:
        """Let the first things happen; the following run is explored."""

    def go_on(self) -> bool:
        """Let happen what comes when all is at rest; return False if nothing is left."""

    def unfinished(self) -> str | None:
        """Describe what is wrong although nothing moves; None if all is as it should be."""

    def names(self) -> dict[str, str]:
        """Return names by uid, of claims and pods that no commit shows."""


class Make(Protocol):
    """Creates a world; a class, or a class with some of its settings."""

    def __call__(
        self,
        spec: "WorldSpec",
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str],
    ) -> World:
        """Create the world of a single run, with these defects and remedies in its subject."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpec:
    """A world to explore; small, because the number of interleavings grows fast."""

    title: str
    """One line that describes the world."""
    make: Make
    sizes: Mapping[str, Size]
    """The sizes by name; those that cost most come first, because they are reduced first."""
    faults: tuple[str, ...] = ()
    """Kinds of faults of the API server; the strategy chooses when they happen.

    `lose-response`, `lose-request`, `delay-request`: of a write. `drop-watch`, `expire-watch`: of a
    watch; `expire-claim-watch`: of a watch of ResourceClaims. `touch-objects`, `touch-others`:
    another client changes an object just before it is replaced, or the last of its kind.
    `overlook-finalizers`: a deletion does not see finalizers that are added meanwhile. The size
    `faults_max` says how many of them may happen, all
    together.
    """
    answers_first: bool = False
    """The answer to a write always comes before its events; else they come in either order."""
    private_locks: tuple[str, ...] = PRIVATE_LOCKS
    """Name suffixes of locks without contention once the world is at rest."""
    choices_max: int = CHOICES_MAX
    """Choices after which a run counts as a livelock; none of the world's runs needs as many."""
    hazard: Hazard | None = None
    """Why the correct subject fails in this world, as upstream; None: it does not. Its page says
    that it is of this world; a finding here is a real one, not an error of the explorer.
    """

    @property
    def values(self) -> dict[str, int]:
        """The sizes without their minimums."""
        return {name: size.value for name, size in self.sizes.items()}

    def with_sizes(self, values: Mapping[str, int]) -> "WorldSpec":
        changed = {
            name: Size(values.get(name, size.value), size.least)
            for name, size in self.sizes.items()
        }
        return dataclasses.replace(self, sizes=changed)

    def known_to_fail(self, hazard: hazards.Hazard | None) -> "WorldSpec":
        """Return the spec of a world in which the correct subject fails by a hazard; None: none."""
        known = None if hazard is None else Hazard(hazard.id, hazard.remedy)
        return dataclasses.replace(self, hazard=known)

    def source(self) -> str:
        """Return the source of all classes and functions that the world is made of."""
        made: Any = self.make
        functions: list[Any] = []
        if isinstance(made, functools.partial):
            functions = [value for value in made.keywords.values() if inspect.isfunction(value)]
            made = made.func
        kinds = [kind for kind in inspect.getmro(made) if kind is not object]
        return "".join(map(inspect.getsource, (*kinds, *functions)))

    def is_known_to_fail(self, remedies: Sequence[str]) -> bool:
        """Return whether the correct subject fails with these remedies."""
        return self.hazard is not None and self.hazard.remedy not in remedies


def spec(
    make: Make,
    title: str,
    *,
    faults: tuple[str, ...] = (),
    answers_first: bool = False,
    private_locks: tuple[str, ...] = PRIVATE_LOCKS,
    choices_max: int = CHOICES_MAX,
    **sizes: tuple[int, int],
) -> WorldSpec:
    """Return the spec of a world; each size is given as its value and its minimum."""
    return WorldSpec(
        title=title,
        make=make,
        sizes={name: Size(*size) for name, size in sizes.items()},
        faults=faults,
        answers_first=answers_first,
        private_locks=private_locks,
        choices_max=choices_max,
    )
