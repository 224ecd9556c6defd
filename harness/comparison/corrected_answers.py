"""The answers of many tests together, so that the probability of any wrong one is bounded."""

from collections.abc import Iterable
from typing import Protocol

from harness.comparison.documents import Answer
from harness.statistics import corrections, rates

_LEVEL = 1 - rates.CONFIDENCE


class Test(Protocol):
    """One test, whose answer needs the p-values of all others."""

    p_value: float
    corrected: float | None
    answer: Answer

    @property
    def least_p_value(self) -> float:
        """The smallest p-value that its number of runs can have."""

    def is_close(self, *, confidence: float) -> bool:
        """Return whether a large difference is excluded, where there is such a size."""


def decide(tests: Iterable[Test]) -> None:
    """Set the answers of all tests.

    Tests that could not have found anything are left out first, which depends on the numbers of
    runs only. The intervals that exclude a large difference hold together.
    """
    tests = list(tests)
    confidence = 1 - _LEVEL / max(len(tests), 1)
    possible = [test for test in tests if test.least_p_value <= _LEVEL]
    corrected = corrections.holm([test.p_value for test in possible])
    for test, value in zip(possible, corrected, strict=True):
        test.corrected = value
        if value <= _LEVEL:
            test.answer = Answer.DIFFERENT
        elif test.least_p_value * len(possible) <= _LEVEL and test.is_close(confidence=confidence):
            test.answer = Answer.SAME
