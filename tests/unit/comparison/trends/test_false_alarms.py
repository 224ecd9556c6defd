"""The promise of trends, simulated: how often a night without a change raises an alarm.

Each night is a machine that is faster or slower than others, and its runs differ among themselves.
A real slowdown must be found under the same conditions.
"""

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from harness.comparison.trends import changes, night_series
from harness.comparison.trends.night_series import FigurePoint, Key, RatePoint, Series
from harness.statistics import rates

CAMPAIGNS = 150
"""Simulated databases of each row."""
Draw = Callable[[np.random.Generator], float]


def normal(random: np.random.Generator) -> float:
    return float(random.normal())


def heavy(random: np.random.Generator) -> float:
    """Longer tails than normal: Student's distribution with 5 degrees, of variance 1."""
    return float(random.standard_t(5)) / (5 / 3) ** 0.5


def exponential(random: np.random.Generator) -> float:
    """Times to detect are exponential; their logarithm is not normal."""
    return float(np.log(random.exponential()))


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """How nights and runs differ without any change."""

    nights: int
    runs: int
    between: float
    within: float
    draw: Draw = normal
    measures: int = 1
    is_uneven: bool = False
    """Nights have 1 to `runs` runs."""
    rate: tuple[float, float] = (0.0, 0.0)
    """Mean and standard deviation of the nights' rates of INVALID runs."""


SIMULATED = [
    World(nights=nights, runs=runs, between=between, within=within)
    for nights, runs, between, within in [
        (3, 6, 0.0, 0.1),
        (3, 6, 0.1, 0.02),
        (10, 6, 0.0, 0.1),
        (10, 6, 0.1, 0.02),
        (30, 6, 0.1, 0.05),
        (30, 3, 0.1, 0.02),
        (30, 20, 0.0, 0.1),
        (30, 20, 0.15, 0.05),
        (30, 6, 0.05, 0.05),
    ]
]
OTHERS = [
    World(nights=12, runs=6, between=0.15, within=0.05, measures=5),
    World(nights=30, runs=12, between=0.05, within=0.2, is_uneven=True),
    World(nights=30, runs=6, between=0.1, within=0.05, draw=heavy),
    World(nights=30, runs=1, between=1.0, within=0.0, draw=exponential),
    World(nights=30, runs=6, between=0.1, within=0.02, rate=(0.3, 0.0)),
    World(nights=30, runs=10, between=0.1, within=0.02, rate=(0.4, 0.2)),
    World(nights=30, runs=6, between=0.0, within=0.0),
]
WORLDS = [*SIMULATED, *OTHERS]


def series(
    world: World, random: np.random.Generator, slowdown: Sequence[float] = ()
) -> Iterator[Series]:
    """One series without a change, but for the last nights, which are slower by these factors."""
    measures = night_series.MEASURES[: world.measures]
    figures: dict[str, list[FigurePoint]] = {measure.name: [] for measure in measures}
    verdicts = []
    for night in range(world.nights):
        runs = int(random.integers(1, world.runs + 1)) if world.is_uneven else world.runs
        slower = slowdown[night - world.nights] if night >= world.nights - len(slowdown) else 1.0
        speed = 100 * np.exp(world.between * world.draw(random)) * slower
        for points in figures.values():
            values = tuple(map(float, speed * np.exp(random.normal(0, world.within, runs))))
            points.append(FigurePoint(night, values, statistics.median(values), "L"))
        rate = float(np.clip(random.normal(*world.rate), 0, 1))
        failed = int(random.binomial(runs, rate))
        verdicts.append(RatePoint(night, rates.Rate(failed, runs), 0, "L"))
    yield Series(Key(0, "pod-churn", "correct", "embedded"), verdicts, figures)


@pytest.mark.parametrize("world", WORLDS, ids=map(str, range(len(WORLDS))))
def test_a_night_without_a_change_rarely_raises_an_alarm(world: World) -> None:
    """At most LEVEL of the nights that can be tested; what is told without a test is no alarm."""
    random = np.random.default_rng(35)
    tested = max(world.nights - changes.NIGHTS_MIN, 1) * CAMPAIGNS
    alarms = 0
    for _ in range(CAMPAIGNS):
        found = changes.find(series(world, random), world.nights)
        alarms += len({change.found for change in found if change.p_value is not None})
    allowed = changes.LEVEL * tested
    assert alarms <= allowed + 3 * allowed**0.5, "three standard deviations above the promise"
    assert alarms == 0 or world.nights > changes.NIGHTS_MIN


@pytest.mark.parametrize(("between", "slower"), [(0.02, 0.75), (0.05, 0.6), (0.1, 0.4)])
def test_one_night_that_is_much_slower_is_found(between: float, slower: float) -> None:
    world = World(nights=15, runs=6, between=between, within=0.05, measures=5)
    assert share_found(world, [slower]) >= 0.8


@pytest.mark.parametrize(("between", "slower"), [(0.05, 0.85), (0.1, 0.75), (0.15, 0.6)])
def test_a_week_that_is_slower_is_found(between: float, slower: float) -> None:
    world = World(nights=28, runs=3, between=between, within=0.05, measures=5)
    assert share_found(world, [slower] * changes.WEEK) >= 0.8


def share_found(world: World, slowdown: Sequence[float]) -> float:
    random, found = np.random.default_rng(35), 0
    first = world.nights - len(slowdown)
    for _ in range(40):
        every = changes.find(series(world, random, slowdown), world.nights)
        worse = [change for change in every if change.is_worse and change.measure == "throughput"]
        found += any(change.found >= first for change in worse)
    return found / 40
