"""Schedules a second of the explorer, and how long each known defect takes to be found, by strategy."""

import statistics
import time
from collections.abc import Iterator

from harness.explore import hunting
from harness.subject import defects

SCENARIO = "four-claims-four-devices"
UPSTREAM = ("assume-cache-shared-drain", "gather-not-atomic")
SCHEDULES = 500
SEEDS = 20
TIME_MAX_S = 20.0


def measure() -> Iterator[tuple[str, float, str]]:
    """The correct subject and the two upstream races at full length; then the time to the first finding of every defect."""
    for chosen in ((), *((name,) for name in UPSTREAM)):
        wanted = _hunt(chosen, "random", seed=1, schedules=SCHEDULES, until_found=False)
        started = time.perf_counter()
        *_, progress = hunting.explore(wanted)
        rate = progress.schedules / (time.perf_counter() - started)
        yield f"{SCENARIO}, {', '.join(chosen) or 'correct'}", rate, "schedules/s"
    for name in defects.names():
        for strategy in hunting.STRATEGIES:
            spent = [_seconds_to_finding(name, strategy, seed) for seed in range(SEEDS)]
            yield (
                f"{name}, {strategy}: median of {SEEDS} seeds",
                statistics.median(spent),
                "s to find",
            )


def _seconds_to_finding(name: str, strategy: str, seed: int) -> float:
    started = time.perf_counter()
    for _ in hunting.explore(_hunt((name,), strategy, seed=seed, schedules=None, until_found=True)):
        pass
    return time.perf_counter() - started


def _hunt(
    chosen: tuple[str, ...], strategy: str, *, seed: int, schedules: int | None, until_found: bool
) -> hunting.Hunt:
    return hunting.Hunt(
        scenario=SCENARIO,
        defects=chosen,
        strategy=strategy,
        seed=seed,
        schedules=schedules,
        time_s=TIME_MAX_S,
        until_found=until_found,
    )
