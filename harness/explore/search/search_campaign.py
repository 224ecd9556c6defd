"""Many runs of one world: sampled by random strategies in several processes, or all of them."""

import contextlib
import dataclasses
import functools
import gc
import itertools
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence

from harness import errors, seeds, suggestions
from harness.explore.runtime import choices, observing
from harness.explore.search import (
    explored_run,
    random_strategies,
    search_progress,
    tokens,
)
from harness.explore.search.whole import depth_first
from harness.explore.worlds import world_catalogue, world_specs

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


Outcomes = Generator[search_progress.Outcome, None, None]


def explore(hunt: Hunt) -> Iterator[search_progress.SearchProgress]:
    """Explore, repeatedly yielding the same growing progress; close the iterator to stop early."""
    progress, started = search_progress.SearchProgress(), time.monotonic()
    whole = depth_first.Tree() if hunt.strategy == EXHAUSTIVE else None
    with contextlib.closing(_outcomes(hunt, whole)) as outcomes:
        for outcome in outcomes:
            progress.add(outcome)
            if whole is not None:
                progress.left = whole.left()
            yield progress
            if _is_over(hunt, progress, started):
                return
    progress.is_complete = whole is not None
    yield progress


def _is_over(hunt: Hunt, progress: search_progress.SearchProgress, started: float) -> bool:
    if hunt.until_found and progress.findings:
        return True
    if hunt.schedules is not None and progress.schedules >= hunt.schedules:
        return True
    return hunt.time_s is not None and time.monotonic() - started >= hunt.time_s


def _outcomes(hunt: Hunt, whole: depth_first.Tree | None) -> Outcomes:
    outcomes: Iterator[search_progress.Outcome]
    if whole is not None:
        outcomes = depth_first.runs(whole, functools.partial(_explore_once, hunt), _is_cut)
    else:
        outcomes = (_sample(hunt, number) for number in itertools.count())
    with _collecting_after_runs():
        yield from outcomes


def _is_cut(outcome: search_progress.Outcome) -> bool:
    """Return whether a run ended at a finding, although its tasks could have gone on."""
    return outcome.finding is not None


def _sample(hunt: Hunt, number: int) -> search_progress.Outcome:
    """Execute one run. The same number draws the same random numbers."""
    stream = seeds.Seeds(hunt.seed).stream("explore", number)
    return _explore_once(hunt, STRATEGIES[hunt.strategy](stream))


def _explore_once(
    hunt: Hunt, strategy: choices.Strategy, observer: observing.Observer | None = None
) -> search_progress.Outcome:
    run = explored_run.explore_once(
        hunt.spec, strategy, defects=hunt.defects, remedies=hunt.remedies, observer=observer
    )
    gc.collect(0)  # the run's world is garbage now
    return search_progress.Outcome(run.decisions, run.finding, run.state, run.was_given_up)


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
    """Execute a token's run again."""
    strategy = random_strategies.Replay(token.decisions)
    return explored_run.explore_once(
        token.spec, strategy, defects=token.defects, remedies=token.remedies, record=record
    )
