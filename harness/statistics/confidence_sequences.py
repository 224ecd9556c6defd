"""Is a rate below a limit? The question may be asked again after every run.

An exact interval is exact for a number of runs that was chosen before the first of them. Here the
runs decide when to stop, so the answers come from test martingales. The likelihood of the runs
under a rate on one side of the limit, divided by their likelihood at the limit, has a mean of at
most 1 for every true rate on the other side, and so has a mixture of such ratios (H. Robbins,
"Statistical Methods Related to the Law of the Iterated Logarithm", 1970). The probability that it
ever reaches 1 / error is at most the error (J. Ville, "Étude critique de la notion de collectif",
1939), however often it is looked at.
"""

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from harness.statistics import rates

_NEVER = 0.8
"""Weight of rate 0 in the mixture for `below`: most subjects that are not worse never fail."""
_TIMES = 4
"""The mixture for `at least` has its mean near this multiple of the limit."""
_HALVINGS = 60
_Array = npt.NDArray[np.float64]


class Answer(enum.StrEnum):
    """The answer about a rate and a limit."""

    BELOW = "below"
    AT_LEAST = "at least"
    UNDECIDED = "not decided"


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """Is a rate below the limit? The answer is right with this confidence, whatever the rate."""

    limit: float
    confidence: float

    @property
    def bound(self) -> float:
        """The logarithm that a test martingale must reach."""
        return -math.log1p(-self.confidence)

    def __str__(self) -> str:
        """Return it as `0.01@0.95`."""
        return f"{self.limit:g}@{self.confidence:g}"


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The answer, and the runs with which it was first reached; all runs if it was not."""

    answer: Answer
    rate: rates.Rate


def decide(question: Question, outcomes: Iterable[bool]) -> Decision:
    """Return the decision about runs in their order; True: the run failed."""
    rate = rates.Rate(0, 0)
    for has_failed in outcomes:
        rate = rates.Rate(rate.failed + has_failed, rate.runs + 1)
        answer = answer_now(question, rate)
        if answer is not Answer.UNDECIDED:
            return Decision(answer, rate)
    return Decision(Answer.UNDECIDED, rate)


@functools.lru_cache(maxsize=65_536)
def answer_now(question: Question, rate: rates.Rate) -> Answer:
    """Return the answer that these runs alone give, whatever the earlier ones gave."""
    if log_evidence_below(question.limit, rate) >= question.bound:
        return Answer.BELOW
    if log_evidence_at_least(question.limit, rate) >= question.bound:
        return Answer.AT_LEAST
    return Answer.UNDECIDED


def log_evidence_below(limit: float, rate: rates.Rate) -> float:
    """Return the logarithm of the evidence against every rate of at least `limit`.

    The mixture has rate 0, and all rates below the limit with equal weights. The integral over
    these is a tail of the binomial distribution with one run more.
    """
    tail = _log_tail(rate.runs + 1, limit, slice(rate.failed + 1, None))
    spread = tail - math.log(rate.runs + 1) - math.log(limit) - _log_chance(rate, limit)
    if rate.failed:
        return math.log1p(-_NEVER) + spread
    never = math.log(_NEVER) - rate.runs * math.log1p(-limit)
    return float(np.logaddexp(never, math.log1p(-_NEVER) + spread))


def log_evidence_at_least(limit: float, rate: rates.Rate) -> float:
    """Return the logarithm of the evidence against every rate below `limit`.

    The mixture is a beta distribution of 1 and a whole number, cut off at the limit, so that the
    integral is a tail of the binomial distribution too.
    """
    other = max(round(1 / (_TIMES * limit)), 1)
    whole = rate.runs + other
    tail = _log_tail(whole, limit, slice(None, rate.failed + 1))
    beta = -math.log(rate.failed + 1) - _log_ways(whole, rate.failed + 1)
    chance = _log_chance(rate, limit) - _log_ways(rate.runs, rate.failed)
    return math.log(other) + beta + tail - other * math.log1p(-limit) - chance


def interval(rate: rates.Rate, confidence: float) -> tuple[float, float]:
    """Return an interval that contains the true rate after every run at once; (0, 1) without runs.

    It has the rates against which the mixture of all rates by Jeffreys' prior has too little
    evidence.
    """
    if not rate.runs:
        return 0.0, 1.0
    mixture = _log_beta(rate.failed + 0.5, rate.runs - rate.failed + 0.5) - _log_beta(0.5, 0.5)
    bound = mixture + math.log1p(-confidence)

    def is_in(value: float) -> bool:
        passed = rate.runs - rate.failed
        return rate.failed * math.log(value) + passed * math.log1p(-value) > bound

    low = _edge(rate.share, 0.0, is_in) if rate.failed else 0.0
    return low, _edge(rate.share, 1.0, is_in) if rate.failed < rate.runs else 1.0


def _edge(inside: float, outside: float, is_in: Callable[[float], bool]) -> float:
    """Return the end of the interval between a rate inside and one outside."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_in(middle) else (inside, middle)
    return outside


def _log_beta(first: float, second: float) -> float:
    return math.lgamma(first) + math.lgamma(second) - math.lgamma(first + second)


def _log_ways(whole: int, count: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(count + 1) - math.lgamma(whole - count + 1)


def _log_chance(rate: rates.Rate, value: float) -> float:
    """Return the logarithm of the probability of this number of failures at a rate."""
    passed = rate.runs - rate.failed
    ways = _log_ways(rate.runs, rate.failed)
    return ways + rate.failed * math.log(value) + passed * math.log1p(-value)


def _log_tail(whole: int, value: float, counts: slice) -> float:
    """Return the logarithm of the probability of one of these numbers of failures."""
    failed = np.arange(whole + 1)[counts]
    factorials = _log_factorials(1 << whole.bit_length())
    ways = factorials[whole] - factorials[failed] - factorials[whole - failed]
    logs = ways + failed * math.log(value) + (whole - failed) * math.log1p(-value)
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


@functools.lru_cache(maxsize=32)
def _log_factorials(count: int) -> _Array:
    """Return the logarithms of the factorials of 0, 1, …, `count`."""
    return np.array([math.lgamma(number + 1) for number in range(count + 1)])
