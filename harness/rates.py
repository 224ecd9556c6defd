"""The rate at which runs fail, with an exact confidence interval."""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

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
        return _interval(self.failed, self.runs, CONFIDENCE)

    @property
    def most(self) -> float:
        """The exact one-sided bound: the true rate is lower with the confidence; 1 without runs."""
        return _interval(self.failed, self.runs, 2 * CONFIDENCE - 1)[1]

    def __str__(self) -> str:
        """Return `failed in 14 of 20 runs (95 % confidence: 46 % to 88 %)`."""
        noun = "run" if self.runs == 1 else "runs"
        return (
            f"failed in {self.failed} of {self.runs} {noun} "
            f"({CONFIDENCE * 100:.0f} % confidence: {span(*self.interval, ' % to ')} %)"
        )


def span(low: float, high: float, joint: str = " to ") -> str:
    """Return an interval of shares in percent, without the last sign: `46 to 88`."""
    return f"{lower(low * 100)}{joint}{upper(high * 100)}"


def lower(value: float) -> str:
    """Return the lower end of an interval with two digits, never higher than it is."""
    return f"{_floor(value):.12g}"


def upper(value: float) -> str:
    """Return the upper end of an interval with two digits, never lower than it is."""
    return f"{0.0 - _floor(-value):.12g}"


def _floor(value: float) -> float:
    """Round down to two digits, but not to a unit from 100 on; 99 to 100 % have a third one."""
    size = abs(value)
    places = 1 if 99 < size < 100 else max(1 - math.floor(math.log10(max(size, 1e-9))), 0)
    scale = 10.0**places
    return math.floor(round(value * scale, 6)) / scale  # 5 may be 5.000000000000001


def fall(first: Rate, second: Rate, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return an interval of how much lower the second true rate is than the first.

    It has the differences of all rates in two exact intervals that hold at once with the
    confidence. It is exact but wide: it may contain 0 where a test finds a difference.
    """
    each = math.sqrt(confidence)
    (low, high), (other_low, other_high) = (
        _interval(rate.failed, rate.runs, each) for rate in (first, second)
    )
    return low - other_high, high - other_low


@functools.lru_cache(maxsize=4096)
def _interval(failed: int, runs: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    ways = log_ways(runs)
    least, most = slice(failed, None), slice(None, failed + 1)
    lower = _where(lambda rate: _probability(ways, least, rate) > tail) if failed else 0.0
    upper = _where(lambda rate: _probability(ways, most, rate) < tail) if failed < runs else 1.0
    return lower, upper


def log_ways(count: int) -> npt.NDArray[np.float64]:
    """Return the logarithms of the binomial coefficients of `count` over 0, 1, …, `count`."""
    logs = np.array([math.lgamma(number + 1) for number in range(count + 1)])
    ways: npt.NDArray[np.float64] = logs[-1] - logs - logs[::-1]
    return ways


def _probability(ways: npt.NDArray[np.float64], counts: slice, rate: float) -> float:
    """Return the probability of one of these counts of failures at a rate within (0, 1)."""
    failed = np.arange(len(ways))
    logs = ways + failed * math.log(rate) + (len(ways) - 1 - failed) * math.log1p(-rate)
    return float(np.exp(logs[counts]).sum())


def _where(is_above: Callable[[float], bool]) -> float:
    """Return the rate from which on the condition holds."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2
