"""Many runs of one world: sampled by a random strategy, or all of them; or of random worlds."""

import collections
import contextlib
import dataclasses
import functools
import gc
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence

from harness import errors, seeds, suggestions
from harness.explore.runtime import choices, observing
from harness.explore.search import explored_run, random_strategies, tokens
from harness.explore.search.whole import depth_first
from harness.explore.worlds import chosen_parts, world_catalogue, world_specs
from harness.explore.worlds.random_worlds import random_specs

Make = Callable[[random.Random], choices.Strategy]
STRATEGIES: dict[str, Make] = {
    "random": lambda stream: random_strategies.RandomWalk(
        stream, stay=stream.choice((0.3, 0.5, 0.7, 0.9))
    ),
    "pct": lambda stream: random_strategies.Pct(stream, depth=stream.randint(3, 6), length=80),
}
EXHAUSTIVE = "exhaustive"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """The world to explore, the strategy and the limits."""

    scenario: str
    defects: tuple[str, ...]
    strategy: str
    seed: int
    schedules: int | None
    """Number of runs; None: until `time_s` is over."""
    time_s: float | None
    """Time limit in seconds; None: no limit."""
    until_found: bool = True
    sizes: tuple[tuple[str, int], ...] = ()
    """Changed sizes of the scenario."""
    remedies: tuple[str, ...] = ()

    @property
    def spec(self) -> world_specs.WorldSpec:
        """The world to explore. Raises ScenarioError if there is no such world."""
        return world_catalogue.sized(self.scenario, dict(self.sizes))

    def require_possible(self) -> None:
        """Raise ScenarioError or UsageError if there is no such scenario, size or strategy."""
        _ = self.spec
        if self.strategy not in (*STRATEGIES, EXHAUSTIVE):
            known = (*STRATEGIES, EXHAUSTIVE)
            near = suggestions.did_you_mean(self.strategy, known)
            raise errors.UsageError(
                f"expected a strategy, got {self.strategy!r}.{near} Known: {', '.join(known)}"
            )

    def token(self, decisions: Sequence[int]) -> tokens.Token:
        return tokens.Token(
            scenario=self.scenario,
            defects=self.defects,
            remedies=self.remedies,
            decisions=tuple(decisions),
            sizes=self.sizes,
        )


FINDINGS_KEPT = 100
"""Maximum number of findings kept."""


@dataclasses.dataclass(slots=True)
class SearchProgress:
    """Totals of the exploration so far."""

    schedules: int = 0
    given_up: int = 0
    """Number of schedules abandoned where all that could follow had been tried before."""
    distinct: set[int] = dataclasses.field(default_factory=set)
    """The states of interleavings that differ in more than the order of independent steps."""
    findings: list[tuple[str, list[int]]] = dataclasses.field(default_factory=list)
    """Descriptions of findings, with the decisions that lead to them."""
    is_complete: bool = False
    """True if every run was made."""

    def add(self, run: explored_run.ExploredRun) -> None:
        self.schedules += 1
        if run.was_given_up:
            self.given_up += 1
        else:
            self.distinct.add(run.state)
        if run.finding is not None and len(self.findings) < FINDINGS_KEPT:
            self.findings.append((run.finding, run.decisions))


def explore(hunt: Hunt) -> Iterator[SearchProgress]:
    """Explore, repeatedly yielding the same growing progress; close the iterator to stop early."""
    progress, started = SearchProgress(), time.monotonic()
    whole = depth_first.Tree() if hunt.strategy == EXHAUSTIVE else None
    with _collecting_after_runs():
        for run in _samples(hunt) if whole is None else _every_run(hunt, whole):
            progress.add(run)
            yield progress
            if _is_over(hunt, progress, started):
                return
    progress.is_complete = whole is not None
    yield progress


def _is_over(hunt: Hunt, progress: SearchProgress, started: float) -> bool:
    if hunt.until_found and progress.findings:
        return True
    if hunt.schedules is not None and progress.schedules >= hunt.schedules:
        return True
    return hunt.time_s is not None and time.monotonic() - started >= hunt.time_s


def _samples(hunt: Hunt) -> Iterator[explored_run.ExploredRun]:
    """Execute run after run. The same number of a run draws the same random numbers."""
    for number in itertools.count():
        stream = seeds.Seeds(hunt.seed).stream("explore", number)
        yield _explore_once(hunt, STRATEGIES[hunt.strategy](stream))


def _every_run(hunt: Hunt, whole: depth_first.Tree) -> Iterator[explored_run.ExploredRun]:
    """Execute all runs; one ends at a finding, although its tasks could have gone on."""
    return depth_first.runs(
        whole, functools.partial(_explore_once, hunt), lambda run: run.finding is not None
    )


def _explore_once(
    hunt: Hunt, strategy: choices.Strategy, observer: observing.Observer | None = None
) -> explored_run.ExploredRun:
    run = explored_run.explore_once(
        hunt.spec, strategy, defects=hunt.defects, remedies=hunt.remedies, observer=observer
    )
    gc.collect(0)  # the run's world is garbage now
    return run


@contextlib.contextmanager
def _collecting_after_runs() -> Iterator[None]:
    # A world is one big cycle: a collector would search it, and everything older, in vain.
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def replay(token: tokens.Token, *, record: bool = False) -> explored_run.ExploredRun:
    strategy = random_strategies.Replay(token.decisions)
    return explored_run.explore_once(
        token.spec, strategy, defects=token.defects, remedies=token.remedies, record=record
    )


SCHEDULES = 8
"""Default number of schedules in each world."""
NUMBERS = 10**9
"""Worlds have numbers below this."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RandomHunt:
    """The subject, how long each world is searched, and the limits."""

    seed: int
    defects: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    """Remedies beside those against the known hazards of each world."""
    schedules: int = SCHEDULES
    """Number of schedules in each world; less if one of them has a finding."""
    worlds: int | None = None
    """Number of worlds; None: until `time_s` is over."""
    time_s: float | None = None
    """Time limit in seconds; None: no limit."""

    def require_possible(self) -> None:
        """Raise UsageError if the defects and remedies cannot be chosen together."""
        chosen_parts.of(self.defects, self.remedies)

    def hunt(self, index: int) -> Hunt:
        """Return the search of one world; every fourth takes random walks, the others PCT."""
        number = seeds.Seeds(self.seed).derive("random-world", index) % NUMBERS
        world = random_specs.name(number)
        remedies, sizes = random_specs.settings(world, self.defects, self.remedies)
        return Hunt(
            scenario=world,
            defects=self.defects,
            remedies=remedies,
            strategy="pct" if index % 4 else "random",
            seed=number,
            schedules=self.schedules,
            time_s=None,
            sizes=sizes,
        )


@dataclasses.dataclass(slots=True)
class RandomProgress:
    """Totals of the search so far."""

    worlds: int = 0
    schedules: int = 0
    features: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """Number of worlds with each feature."""
    found: tuple[str, tokens.Token] | None = None
    """The first finding and its token; None: there is none."""

    def add(self, hunt: Hunt, searched: SearchProgress) -> None:
        self.worlds += 1
        self.schedules += searched.schedules
        self.features.update(random_specs.features(hunt.scenario))
        if searched.findings and self.found is None:
            finding, decisions = searched.findings[0]
            self.found = finding, hunt.token(decisions)


def explore_worlds(hunt: RandomHunt) -> Iterator[RandomProgress]:
    """Search worlds until the first finding, repeatedly yielding the same growing progress."""
    progress, started = RandomProgress(), time.monotonic()
    for of_world in map(hunt.hunt, itertools.count()):
        try:
            *_, searched = explore(of_world)
        except Exception as error:
            error.add_note(f"in {of_world.scenario}, with the seed {of_world.seed}")
            raise
        progress.add(of_world, searched)
        yield progress
        is_late = hunt.time_s is not None and time.monotonic() - started >= hunt.time_s
        if progress.found is not None or is_late or progress.worlds == hunt.worlds:
            return
