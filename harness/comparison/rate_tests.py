"""Exact tests of the rates of INVALID runs, and their answers as text."""

import dataclasses
from collections.abc import Sequence

from harness import rates
from harness.comparison import documents, exact_tests
from harness.comparison.documents import Answer

CONFIDENCE = rates.CONFIDENCE
RUNS_MIN = 4
"""Least conclusive runs of each side that can show a difference in one scenario.

With 0 of 3 against 3 of 3, Fisher's test, which asks least of the runs, finds 0.1.
"""
_LEVEL = 1 - CONFIDENCE
_Pairs = Sequence[tuple[rates.Rate, rates.Rate]]


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
    return Test(pairs, exact_tests.boschloo(first, second), exact_tests.boschloo(*extreme))


def of_all(pairs: _Pairs) -> Test:
    return Test(pairs, exact_tests.stratified(pairs), exact_tests.stratified(_extremes(pairs)))


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
    corrected = exact_tests.holm([test.p_value for test in possible])
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
