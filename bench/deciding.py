"""Sequential decisions on simulated coins: how often they are wrong, and after how many runs.

Also how often comparisons find a defect, against the power that was computed for them.
"""

from collections.abc import Iterator

import numpy as np

from harness.statistics import exact_tests, power
from harness.statistics.confidence_sequences import Question

COINS = 10_000
QUESTION = Question(0.01, 0.95)
RATES = (0.01, 0.0, 0.005, 0.05)
RUNS_MAX = 4_000
SEED = 20_261_122


def measure() -> Iterator[tuple[str, float, str]]:
    """Decide about coins of each rate, and compare correct subjects with defective ones."""
    random = np.random.default_rng(SEED)
    for rate in RATES:
        below, at_least, runs = _decided(rate, random)
        is_below = rate < QUESTION.limit
        wrong = (at_least if is_below else below) / COINS
        what = f"{COINS:,} coins of rate {rate:.1%}, is it below 1 % (95 %)"
        yield f"{what}: wrong, at most 5 %", 100 * wrong, "% wrong"
        yield f"{what}: decided in {RUNS_MAX:,} runs", 100 * (below + at_least) / COINS, "%"
        yield f"{what}: mean runs", runs, "runs"
    for rate in (0.05, 0.2):
        yield from _compared(rate, random)


def _decided(rate: float, random: np.random.Generator) -> tuple[int, int, float]:
    """Return how many coins are below, how many at least, and their mean runs."""
    bounds = power.Bounds(QUESTION)
    failed = np.zeros(COINS, dtype=int)
    below, at_least, runs = 0, 0, 0
    for number in range(1, RUNS_MAX + 1):
        runs += len(failed)
        failed += random.random(len(failed)) < rate
        low, high = bounds.at(number)
        below += int((failed <= low).sum())
        at_least += int((failed >= high).sum())
        failed = failed[(failed > low) & (failed < high)]
    return below, at_least, runs / COINS


def _compared(rate: float, random: np.random.Generator) -> Iterator[tuple[str, float, str]]:
    runs = power.runs_to_compare(rate, 0.0, confidence=0.95, power=0.8)
    if runs is None:
        raise ValueError(f"expected a number of runs for {rate}")
    rejected = exact_tests.rejected(runs, runs, 0.05)
    found = rejected[random.binomial(runs, rate, COINS), 0].mean()
    stated = power.of_comparison(rate, 0.0, runs, confidence=0.95)
    what = f"compare of {runs} correct runs and {runs} of a defect of {rate:.0%}"
    yield f"{what}: found", 100 * found, "%"
    yield f"{what}: stated power", 100 * stated, "%"
