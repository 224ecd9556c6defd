"""The rate at which a scenario fails, with an exact confidence interval."""

import dataclasses
import math
from collections.abc import Callable

CONFIDENCE = 0.95
"""Least probability that the interval contains the true rate."""
_HALVINGS = 60
"""Halvings of an interval of rates; more than the precision of a float needs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rate:
    """Failures among independent runs."""

    failed: int
    runs: int

    @property
    def share(self) -> float:
        """The share of failures; 0 without runs."""
        return self.failed / self.runs if self.runs else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of the true rate; (0, 1) without runs.

        Its lower end is the rate at which as many failures or more have half of the remaining
        probability, its upper end the one for as many or fewer.
        """
        tail = (1 - CONFIDENCE) / 2
        lower = _where(lambda rate: self._at_least(rate) > tail) if self.failed else 0.0
        upper = _where(lambda rate: self._at_most(rate) < tail) if self.failed < self.runs else 1.0
        return lower, upper

    def __str__(self) -> str:
        """Return `failed in 14 of 20 runs (95 % confidence: 46 % to 88 %)`."""
        low, high = self.interval
        noun = "run" if self.runs == 1 else "runs"
        return (
            f"failed in {self.failed} of {self.runs} {noun} "
            f"({CONFIDENCE:.0%} confidence: {low:.0%} to {high:.0%})"
        ).replace("%", " %")

    def _at_most(self, rate: float) -> float:
        """Return the probability of as many failures or fewer at this rate."""
        return math.fsum(_probability(count, self.runs, rate) for count in range(self.failed + 1))

    def _at_least(self, rate: float) -> float:
        """Return the probability of as many failures or more at this rate."""
        counts = range(self.failed, self.runs + 1)
        return math.fsum(_probability(count, self.runs, rate) for count in counts)


def _probability(count: int, runs: int, rate: float) -> float:
    return math.comb(runs, count) * rate**count * (1 - rate) ** (runs - count)


def _where(is_above: Callable[[float], bool]) -> float:
    """Return the rate from which on the condition holds."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2
