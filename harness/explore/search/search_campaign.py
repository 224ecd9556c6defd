"""Many runs of one world: sampled by random strategies in several processes, or exhaustive."""

import contextlib
import dataclasses
import functools
import gc
import itertools
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence

from harness import errors, seeds, suggestions
from harness.explore.runtime import choices
from harness.explore.search import (
    distinct_states,
    exhaustive,
    explored_run,
    random_strategies,
    tokens,
    worker_processes,
)
from harness.explore.worlds import world_catalogue, world_specs

CHUNK = 50
"""Number of runs in one call of a worker process."""
FINDINGS_KEPT = 100
"""Maximum number of findings kept; further ones are only counted."""

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
    jobs: int = 1
    """Number of processes; the exhaustive search uses one."""
    preemptions_max: int = 2
    """Maximum number of preemptions in the exhaustive search."""
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
                f"expected a strategy, got {self.strategy!r}. Known: {', '.join(known)}.{near}"
            )

    def token(self, decisions: Sequence[int]) -> tokens.Token:
        """Return a token for one of the runs."""
        return tokens.Token(
            scenario=self.scenario,
            defects=self.defects,
            remedies=self.remedies,
            decisions=tuple(decisions),
            sizes=self.sizes,
        )


@dataclasses.dataclass(slots=True)
class SearchProgress:
    """Totals of the exploration so far."""

    schedules: int = 0
    given_up: int = 0
    """Number of schedules abandoned in a state that another one had reached."""
    distinct: distinct_states.Distinct = dataclasses.field(default_factory=distinct_states.Distinct)
    """Interleavings that differ in more than the order of independent steps."""
    findings: list[tuple[str, list[int]]] = dataclasses.field(default_factory=list)
    """Descriptions of findings, with the decisions that lead to them."""
    finding_count: int = 0
    is_complete: bool = False
    """True if every run within the bound was made."""

    def add(self, outcome: "Outcome") -> None:
        """Add a run."""
        self.schedules += 1
        if outcome.was_given_up:
            self.given_up += 1
        else:
            self.distinct.add(outcome.state)
        if outcome.finding is not None:
            self.finding_count += 1
            if len(self.findings) < FINDINGS_KEPT:
                self.findings.append((outcome.finding, outcome.decisions))


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The part of a run's result that is sent between processes."""

    decisions: list[int]
    finding: str | None
    state: int
    was_given_up: bool


Outcomes = Generator[list[Outcome], None, None]


def explore(hunt: Hunt) -> Iterator[SearchProgress]:
    """Explore, repeatedly yielding the same growing progress; close the iterator to stop early."""
    progress, started = SearchProgress(), time.monotonic()
    with contextlib.closing(_outcomes(hunt)) as outcomes:
        for batch in outcomes:
            for outcome in batch:
                progress.add(outcome)
            yield progress
            if _is_over(hunt, progress, started):
                return
    progress.is_complete = hunt.strategy == EXHAUSTIVE
    yield progress


def _is_over(hunt: Hunt, progress: SearchProgress, started: float) -> bool:
    if hunt.until_found and progress.findings:
        return True
    if hunt.schedules is not None and progress.schedules >= hunt.schedules:
        return True
    return hunt.time_s is not None and time.monotonic() - started >= hunt.time_s


def _outcomes(hunt: Hunt) -> Outcomes:
    if hunt.jobs > 1 and hunt.strategy != EXHAUSTIVE:
        return _sample_in_processes(hunt)
    return _explore_here(hunt)


def _explore_here(hunt: Hunt) -> Outcomes:
    make = functools.partial(_explore_once, hunt)
    if hunt.strategy == EXHAUSTIVE:
        outcomes = exhaustive.runs(make, preemptions_max=hunt.preemptions_max)
    else:
        outcomes = (_sample(hunt, number) for number in itertools.count())
    with _collecting_after_runs():
        for outcome in outcomes:
            yield [outcome]


def _sample_in_processes(hunt: Hunt) -> Outcomes:
    firsts = itertools.count(0, CHUNK)
    with worker_processes.pool(hunt.jobs) as pool:
        waiting = [pool.submit(_sample_chunk, hunt, next(firsts)) for _ in range(2 * hunt.jobs)]
        while True:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(_sample_chunk, hunt, next(firsts)))


def _sample_chunk(hunt: Hunt, first: int) -> list[Outcome]:
    return [_sample(hunt, number) for number in range(first, first + CHUNK)]


def _sample(hunt: Hunt, number: int) -> Outcome:
    """Execute one run. The same number draws the same random numbers in every process."""
    stream = seeds.Seeds(hunt.seed).stream("explore", number)
    return _explore_once(hunt, STRATEGIES[hunt.strategy](stream))


def _explore_once(hunt: Hunt, strategy: choices.Strategy) -> Outcome:
    run = explored_run.explore_once(
        hunt.spec, strategy, defects=hunt.defects, remedies=hunt.remedies
    )
    gc.collect(0)  # the run's world is garbage now
    return Outcome(run.decisions, run.finding, run.state, run.was_given_up)


@contextlib.contextmanager
def _collecting_after_runs() -> Iterator[None]:
    worker_processes.collect_after_runs_only()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def replay(token: tokens.Token, *, record: bool = False) -> explored_run.ExploredRun:
    """Execute a token's run again."""
    strategy = random_strategies.Replay(token.decisions)
    return explored_run.explore_once(
        token.spec, strategy, defects=token.defects, remedies=token.remedies, record=record
    )
