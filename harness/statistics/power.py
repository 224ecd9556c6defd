"""How many runs are needed, and what a number of runs can show: computed before the first run.

All probabilities are exact. Those of sequential decisions follow every course of the runs.
"""

import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from harness.statistics import confidence_sequences, exact_tests, rates
from harness.statistics.confidence_sequences import Answer, Question

RUNS_MAX = 100_000
"""Most runs of `runs_to_see`, which is None beyond."""
COMPARED_MAX = 400
"""Most runs of each side of `runs_to_compare`."""
_Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class Course:
    """How a sequential decision goes at one true rate, within a number of runs."""

    below: float
    """Probability of the answer `below`."""
    at_least: float
    mean_runs: float
    """Mean number of runs; those that are not decided have all of them."""

    @property
    def decided(self) -> float:
        """Probability of any answer."""
        return self.below + self.at_least


def seen(rate: float, runs: int) -> float:
    """Return the probability that a defect with this rate of failure fails in one of the runs."""
    if rate >= 1:
        return float(runs > 0)
    return -math.expm1(runs * math.log1p(-rate))


def runs_to_see(rate: float, confidence: float) -> int | None:
    """Return the runs in which a defect with this rate is seen with this probability.

    As many runs without a failure, chosen before the first, show that a rate is below this one.
    None if they are more than RUNS_MAX.
    """
    if rate >= 1:
        return 1
    runs = (
        math.ceil(math.log1p(-confidence) / math.log1p(-rate) - 1e-9) if rate > 0 else RUNS_MAX + 1
    )
    return runs if runs <= RUNS_MAX else None


@functools.lru_cache(maxsize=64)
def clean_runs(question: Question) -> int:
    """Return after how many runs without a failure a sequential decision is `below`."""
    low, high = 0, 1
    while _is_below(question, high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_below(question, middle) else (low, middle)
    return high


def _is_below(question: Question, runs: int) -> bool:
    """Return whether these runs without a failure are too few."""
    rate = rates.Rate(0, runs)
    return confidence_sequences.log_evidence_below(question.limit, rate) < question.bound


def course(question: Question, true_rate: float, runs: int) -> Course:
    """Return how a sequential decision goes at a true rate, with at most this number of runs."""
    open_chances = np.array([1.0])
    found = {Answer.BELOW: 0.0, Answer.AT_LEAST: 0.0}
    mean_runs = 0.0
    bounds = _bounds(question)
    for number in range(1, runs + 1):
        mean_runs += float(open_chances.sum())
        open_chances = _after_one_run(open_chances, true_rate)
        below, at_least = bounds.at(number)
        found[Answer.BELOW] += float(open_chances[: below + 1].sum())
        found[Answer.AT_LEAST] += float(open_chances[at_least:].sum())
        open_chances[: below + 1] = 0.0
        open_chances = open_chances[:at_least]
    return Course(found[Answer.BELOW], found[Answer.AT_LEAST], mean_runs)


def _after_one_run(chances: _Array, rate: float) -> _Array:
    moved = np.zeros(len(chances) + 1)
    moved[:-1] = chances * (1 - rate)
    moved[1:] += chances * rate
    return moved


class Bounds:
    """The numbers of failures that decide, by the number of runs."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._found: list[tuple[int, int]] = [(-1, 1)]

    def at(self, runs: int) -> tuple[int, int]:
        """Return the most failures for `below` (-1: none), and the least for `at least`."""
        while len(self._found) <= runs:
            self._found.append(self._next(len(self._found)))
        return self._found[runs]

    def _next(self, runs: int) -> tuple[int, int]:
        """Return the bounds after one run more, which are never lower."""
        below, at_least = self._found[-1]
        while below < runs and self._is(Answer.BELOW, below + 1, runs):
            below += 1
        while at_least <= runs and not self._is(Answer.AT_LEAST, at_least, runs):
            at_least += 1
        return below, at_least

    def _is(self, answer: Answer, failed: int, runs: int) -> bool:
        found = confidence_sequences.answer_now(self._question, rates.Rate(failed, runs))
        return found is answer


@functools.lru_cache(maxsize=64)
def _bounds(question: Question) -> Bounds:
    return Bounds(question)


def of_comparison(first: float, second: float, runs: int, *, confidence: float) -> float:
    """Return the probability that Boschloo's test finds which of two rates is larger.

    Both sides have this number of runs.
    """
    rejected = exact_tests.rejected(runs, runs, 1 - confidence)
    larger = np.greater.outer(np.arange(runs + 1), np.arange(runs + 1))
    is_right = rejected & (larger if first > second else larger.T)
    return float(_chances(first, runs) @ is_right @ _chances(second, runs))


@functools.lru_cache(maxsize=256)
def runs_to_compare(first: float, second: float, *, confidence: float, power: float) -> int | None:
    """Return the runs of each side with which a comparison finds the difference this often.

    None if they are more than COMPARED_MAX. The power is not monotone in the runs: it may fall
    slightly below with a few runs more.
    """
    if first == second:
        return None

    def is_enough(runs: int) -> bool:
        return of_comparison(first, second, runs, confidence=confidence) >= power

    high = 2
    while not is_enough(high):
        if high == COMPARED_MAX:
            return None
        high = min(2 * high, COMPARED_MAX)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _chances(rate: float, runs: int) -> _Array:
    """Return the probabilities of 0, 1, … failures."""
    counts = np.arange(runs + 1)
    if rate in (0, 1):
        return np.where(counts == runs * rate, 1.0, 0.0)
    logs = rates.log_ways(runs) + counts * math.log(rate) + (runs - counts) * math.log1p(-rate)
    chances: _Array = np.exp(logs)
    return chances
