"""The explorer: schedules per second, memory, exhaustive search, and time to find each defect."""

import dataclasses
import statistics
import time
from collections.abc import Iterator

import psutil

from harness.explore.search import search_campaign
from harness.subject import defects

SCENARIO = "four-claims-four-devices"
UPSTREAM = ("assume-cache-shared-drain", "gather-not-atomic")
SCHEDULES = 500
WHOLE_MAX = 20_000
WHOLE_WORLDS = ("all-or-one", "pod-arrives-during-binding", "four-claims-two-devices")
SEEDS = 20
TIME_MAX_S = 20.0


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure the correct subject and two upstream races, then the time to find each defect."""
    for enabled in ((), *((name,) for name in UPSTREAM)):
        hunt = _hunt(enabled, "random", seed=1, schedules=SCHEDULES, until_found=False)
        started = time.perf_counter()
        *_, progress = search_campaign.explore(hunt)
        rate = progress.schedules / (time.perf_counter() - started)
        yield f"{SCENARIO}, {', '.join(enabled) or 'correct'}", rate, "schedules/s"
    yield "growth of resident memory by 5,000 more schedules", _growth_mib(), "MiB"
    for scenario in ("two-claims-one-device", *WHOLE_WORLDS):
        yield from _search_whole(scenario)
    for name in defects.CATALOGUE.names("scheduler"):
        for strategy in search_campaign.STRATEGIES:
            spent = [_seconds_to_finding(name, strategy, seed) for seed in range(SEEDS)]
            yield (
                f"{name}, {strategy}: median of {SEEDS} seeds",
                statistics.median(spent),
                "s to find",
            )


def _growth_mib() -> float:
    process = psutil.Process()
    before = process.memory_info().rss
    for _ in search_campaign.explore(
        _hunt((), "random", seed=2, schedules=5000, until_found=False)
    ):
        pass
    return float(process.memory_info().rss - before) / 2**20


def _search_whole(scenario: str) -> Iterator[tuple[str, float, str]]:
    """Measure a whole search up to a limit."""
    hunt = dataclasses.replace(
        _hunt((), search_campaign.EXHAUSTIVE, seed=1, schedules=WHOLE_MAX, until_found=False),
        scenario=scenario,
        time_s=None,
    )
    process, started = psutil.Process(), time.perf_counter()
    before = process.memory_info().rss
    *_, progress = search_campaign.explore(hunt)
    spent_s = time.perf_counter() - started
    end = "to search it whole" if progress.is_complete else f"for {WHOLE_MAX:,} schedules"
    what = f"{scenario} whole"
    yield what, progress.schedules / spent_s, "schedules/s"
    yield what, progress.schedules, "schedules"
    yield what, progress.given_up, "schedules cut"
    yield what, spent_s, f"s {end}"
    yield what, float(process.memory_info().rss - before) / 2**20, "MiB of growth here"


def _seconds_to_finding(name: str, strategy: str, seed: int) -> float:
    started = time.perf_counter()
    for _ in search_campaign.explore(
        _hunt((name,), strategy, seed=seed, schedules=None, until_found=True)
    ):
        pass
    return time.perf_counter() - started


def _hunt(
    enabled: tuple[str, ...], strategy: str, *, seed: int, schedules: int | None, until_found: bool
) -> search_campaign.Hunt:
    return search_campaign.Hunt(
        scenario=SCENARIO,
        defects=enabled,
        strategy=strategy,
        seed=seed,
        schedules=schedules,
        time_s=TIME_MAX_S,
        until_found=until_found,
    )
