"""The search for overlapping holds, among a hundred thousand and a million holds."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from harness.checks.holds import overlapping

DEVICES = 10_000


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure sequential holds of many devices, of which one in a thousand overlaps others."""
    for count in (100_000, 1_000_000):
        seconds = _seconds(count)
        yield (
            f"overlaps of {count:,} holds of {DEVICES:,} devices",
            count / seconds / 1e6,
            "M holds/s",
        )


def _seconds(count: int) -> float:
    random = np.random.default_rng(1)
    key = random.integers(0, DEVICES, count)
    start = np.arange(count, dtype=np.int64) * 10
    end = start + 10 + np.where(random.random(count) < 0.001, DEVICES * 20, 0)
    return _best(lambda: overlapping.overlaps(key, start, end))


def _best(call: Callable[[], object], times: int = 3) -> float:
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        spent.append(time.perf_counter() - started)
    return min(spent)
