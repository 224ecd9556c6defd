"""Exact tests of whether two rates of INVALID runs differ, and their answers as text.

None relies on large numbers of runs. `boschloo` is for one pair of rates (R. D. Boschloo, "Raised
conditional level of significance for the 2 × 2-table when testing the equality of two
probabilities", 1970). It is never less powerful than Fisher's test, and keeps its level at every
common rate. `stratified` is for many pairs: in each pair the failures are dealt out among the runs
as in Fisher's test, and the failures of the first sides are added up. Rates of different pairs are
never averaged.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness import rates
from harness.comparison import documents
from harness.comparison.documents import Answer

CONFIDENCE = rates.CONFIDENCE
RUNS_MIN = 4
"""Least conclusive runs of each side that can show a difference in one scenario.

With 0 of 3 against 3 of 3, Fisher's test, which asks least of the runs, finds 0.1.
"""
_LEVEL = 1 - CONFIDENCE
_Pairs = Sequence[tuple[rates.Rate, rates.Rate]]

CELLS_MAX = 4_000_000
"""Most pairs of counts that `boschloo` looks at. Beyond them it answers as Fisher's test, whose
p-value is never smaller."""
_GRID = 1_001
"""Common rates at which the level is computed first; then the best ones are looked at closely."""
_REFINEMENTS = 3
_TIE = 1 + 1e-7
"""Probabilities count as equal up to this factor: those of mirrored tables differ by rounding."""
_Array = npt.NDArray[np.float64]


def boschloo(first: rates.Rate, second: rates.Rate) -> float:
    """Return the two-sided p-value for equal rates; 1 if a side has no runs."""
    if not (first.runs and second.runs):
        return 1.0
    failed, whole = first.failed + second.failed, first.runs + second.runs
    dealt = _Deals(first.runs, second.runs)
    observed = dealt.fisher(failed)[first.failed - dealt.least(failed)]
    if (first.runs + 1) * (second.runs + 1) > CELLS_MAX:
        return float(observed)
    weights = np.array([dealt.as_extreme(number, observed) for number in range(whole + 1)])
    return min(_largest_mean(weights), float(observed), 1.0)


def stratified(pairs: Sequence[tuple[rates.Rate, rates.Rate]]) -> float:
    """Return the two-sided p-value for equal rates in every pair; 1 without pairs."""
    chances, seen = np.array([1.0]), 0
    for first, second in pairs:
        dealt = _Deals(first.runs, second.runs)
        failed = first.failed + second.failed
        chances = np.convolve(chances, dealt.chances(failed))
        seen += first.failed - dealt.least(failed)
    return min(float(chances[chances <= chances[seen] * _TIE].sum()), 1.0)


class _Deals:
    """How failures can be dealt out among the runs of two sides, with each run equally likely."""

    def __init__(self, first: int, second: int) -> None:
        self._first, self._second = first, second
        self._ways = rates.log_ways(first), rates.log_ways(second), rates.log_ways(first + second)

    def least(self, failed: int) -> int:
        return max(0, failed - self._second)

    def chances(self, failed: int) -> _Array:
        of_first, of_second, of_both = self._ways
        counts = np.arange(self.least(failed), min(self._first, failed) + 1)
        logs: _Array = of_first[counts] + of_second[failed - counts] - of_both[failed]
        return np.exp(logs)

    def fisher(self, failed: int) -> _Array:
        """Return the p-value of Fisher's two-sided test for each number of the first side."""
        chances = self.chances(failed)
        ordered = np.sort(chances)
        below = np.searchsorted(ordered, chances * _TIE, side="right")
        return np.minimum(np.cumsum(ordered)[below - 1], 1.0)

    def as_extreme(self, failed: int, p_value: float) -> float:
        """Return the probability of a p-value of Fisher's test that is at most this one."""
        return float(self.chances(failed)[self.fisher(failed) <= p_value * _TIE].sum())


def _largest_mean(weights: _Array) -> float:
    """Return the largest mean of the weights of a binomial count, over all rates."""
    angles = np.linspace(0, math.pi / 2, _GRID)
    best = 0.0
    for _ in range(_REFINEMENTS):
        means = _means(weights, np.sin(angles) ** 2)
        place, best = int(means.argmax()), max(best, float(means.max()))
        around = angles[max(place - 1, 0)], angles[min(place + 1, len(angles) - 1)]
        angles = np.linspace(*around, 101)
    return best


def _means(weights: _Array, chosen: _Array) -> _Array:
    whole = len(weights) - 1
    counts = np.flatnonzero(weights)
    inner = chosen.clip(1e-12, 1 - 1e-12)[:, None]
    logs = rates.log_ways(whole)[counts] + counts * np.log(inner)
    chances: _Array = np.exp(logs + (whole - counts) * np.log1p(-inner))
    means: _Array = chances @ weights[counts]
    return means


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the corrected p-values, in the order given; each is compared with the level.

    The probability that any of the tests errs stays below the level, however they depend on each
    other (S. Holm, "A simple sequentially rejective multiple test procedure", 1979).
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for step, index in enumerate(order):
        largest = max(largest, (len(order) - step) * p_values[index])
        corrected[index] = min(largest, 1.0)
    return corrected


@dataclasses.dataclass(slots=True)
class Test:
    """The test of one scenario, or of all together; its answer needs the p-values of all."""

    pairs: _Pairs
    p_value: float
    least_p_value: float
    """The smallest p-value that this number of runs can have, whatever their verdicts."""
    corrected: float | None = None
    answer: Answer = Answer.UNDECIDED
    widest: float = 1.0
    """Largest difference in any pair that is not excluded."""

    @property
    def is_second_worse(self) -> bool:
        excess = 0.0
        for first, second in self.pairs:
            if runs := first.runs + second.runs:
                excess += first.failed - (first.failed + second.failed) * first.runs / runs
        return excess < 0

    def is_close(self, *, confidence: float) -> bool:
        falls = [rates.fall(*pair, confidence=confidence) for pair in self.pairs]
        self.widest = max(max(-low, high) for low, high in falls)
        return self.widest < documents.LARGE


def of_scenario(first: rates.Rate, second: rates.Rate) -> Test:
    pairs = [(first, second)]
    if min(first.runs, second.runs) < RUNS_MIN:
        return Test(pairs, 1.0, 1.0)
    [extreme] = _extremes(pairs)
    return Test(pairs, boschloo(first, second), boschloo(*extreme))


def of_all(pairs: _Pairs) -> Test:
    return Test(pairs, stratified(pairs), stratified(_extremes(pairs)))


def _extremes(pairs: _Pairs) -> _Pairs:
    return [
        (rates.Rate(0, first.runs), rates.Rate(second.runs, second.runs)) for first, second in pairs
    ]


def decide(tests: Sequence[Test]) -> Answer:
    """Set the answers of all tests, and return that of the whole.

    Tests that could not have found anything are left out first, which depends on the numbers of
    runs only. The intervals that exclude a large difference hold together.
    """
    confidence = 1 - _LEVEL / max(len(tests), 1)
    possible = [test for test in tests if test.least_p_value <= _LEVEL]
    corrected = holm([test.p_value for test in possible])
    for test, value in zip(possible, corrected, strict=True):
        test.corrected = value
        if value <= _LEVEL:
            test.answer = Answer.WORSE if test.is_second_worse else Answer.BETTER
        elif test.least_p_value * len(possible) <= _LEVEL and test.is_close(confidence=confidence):
            test.answer = Answer.SAME
    answers = {test.answer for test in tests}
    order = (Answer.WORSE, Answer.BETTER, Answer.UNDECIDED, Answer.SAME)
    return next((answer for answer in order if answer in answers), Answer.UNDECIDED)


def text(test: Test, labels: Sequence[str]) -> str:
    if len(test.pairs) > 1:
        return f"{_answer(test, labels)} over {len(test.pairs)} scenarios and subjects"
    [both] = test.pairs
    shares = ", ".join(f"{label} {counted(rate)}" for label, rate in zip(labels, both, strict=True))
    found = f"{_answer(test, labels)}{_why_undecided(test, labels)}: INVALID in {shares}"
    if test.answer is Answer.SAME:
        size = rates.upper(test.widest * 100)
        return f"{found}; one of {size} percentage points or more is excluded"
    return found


def _answer(test: Test, labels: Sequence[str]) -> str:
    return f"{labels[1]} is {test.answer}" if test.answer.is_different else str(test.answer)


def _why_undecided(test: Test, labels: Sequence[str]) -> str:
    if test.answer is not Answer.UNDECIDED:
        return ""
    [both] = test.pairs
    for label, rate in zip(labels, both, strict=True):
        if not rate.runs:
            return f", no run of {label} is VALID or INVALID"
    if min(rate.runs for rate in both) < RUNS_MIN:
        return f", fewer than {RUNS_MIN} runs on a side"
    return ", too few runs"


def counted(rate: rates.Rate) -> str:
    """Return `14 of 20 runs (46 to 88 %)`."""
    noun = "run" if rate.runs == 1 else "runs"
    return f"{rate.failed} of {rate.runs} {noun} ({rates.span(*rate.interval)} %)"
