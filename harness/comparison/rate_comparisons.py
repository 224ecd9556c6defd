"""Rates of INVALID runs on two sides: exact intervals, exact tests, and the answer as text."""

import dataclasses
from collections.abc import Iterable, Sequence

from harness.checks import verdicts
from harness.comparison import documents, run_groups
from harness.comparison.documents import Answer
from harness.statistics import exact_tests, rates

CONFIDENCE = rates.CONFIDENCE
RUNS_MIN = 4
"""Least conclusive runs of each side that can show a difference in one scenario.

With 0 of 3 against 3 of 3, Fisher's test, which asks least of the runs, finds 0.1.
"""


@dataclasses.dataclass(slots=True)
class Test:
    """One test of rates, whose answer needs those of all others."""

    p_value: float
    least_p_value: float
    """The smallest p-value that this number of runs can have, whatever their verdicts."""
    pairs: Sequence[tuple[rates.Rate, rates.Rate]]
    corrected: float | None = None
    answer: Answer = Answer.UNDECIDED
    widest: float = 1.0
    """Largest difference in any pair that is not excluded."""

    def is_close(self, *, confidence: float) -> bool:
        """Return whether a large difference is excluded in every pair."""
        falls = [rates.fall(*pair, confidence=confidence) for pair in self.pairs]
        self.widest = max(max(-low, high) for low, high in falls)
        return self.widest < documents.LARGE


def outcomes(group: run_groups.Group) -> documents.Outcomes:
    """Return the verdicts and violations of a group; UNKNOWN runs have no part in the rate."""
    rate = rate_of(group)
    low, high = rate.interval
    found = [run.verdict.figures for run in group.runs]
    return documents.Outcomes(
        subject=group.subject,
        invalid=rate.failed,
        conclusive=rate.runs,
        unknown=len(group.runs) - rate.runs,
        share=rate.share if rate.runs else None,
        low=low,
        high=high,
        claims=sum(item.claims for item in found),
        violations=sum(item.violations for item in found),
        double_allocations=sum(item.double_allocations for item in found),
        stuck=sum(item.stuck for item in found),
    )


def rate_of(group: run_groups.Group) -> rates.Rate:
    """Return the rate of INVALID among the runs that are VALID or INVALID.

    Thresholds that were not met are no part of it: they are about times, which `times` compares.
    """
    conclusive = (verdicts.Verdict.VALID, verdicts.Verdict.INVALID)
    made = [run.verdict for run in group.runs if run.verdict.verdict in conclusive]
    return rates.Rate(sum(verdict.is_violated for verdict in made), len(made))


def one(first: rates.Rate, second: rates.Rate) -> Test:
    """Return the test of two rates; too few runs leave it open."""
    if min(first.runs, second.runs) < RUNS_MIN:
        return Test(1.0, 1.0, [(first, second)])
    none, every = rates.Rate(0, first.runs), rates.Rate(second.runs, second.runs)
    least = exact_tests.boschloo(none, every)
    return Test(exact_tests.boschloo(first, second), least, [(first, second)])


def many(pairs: Sequence[tuple[rates.Rate, rates.Rate]]) -> Test:
    """Return the test of all pairs at once."""
    extremes = [
        (rates.Rate(0, first.runs), rates.Rate(second.runs, second.runs)) for first, second in pairs
    ]
    return Test(exact_tests.stratified(pairs), exact_tests.stratified(extremes), pairs)


def overall(tests: Iterable[Test]) -> Answer:
    """Return the answer of all tests together: SAME only if it is that of each of them."""
    answers = {test.answer for test in tests}
    order = (Answer.DIFFERENT, Answer.UNDECIDED, Answer.SAME)
    return next((answer for answer in order if answer in answers), Answer.UNDECIDED)


def text(test: Test, first: rates.Rate, second: rates.Rate, labels: tuple[str, str]) -> str:
    """Return the answer about two rates in a sentence."""
    shares = f"{labels[0]} {counted(first)}, {labels[1]} {counted(second)}"
    if test.answer is Answer.DIFFERENT:
        worse = labels[1] if first.share < second.share else labels[0]
        return f"{worse} is worse: INVALID in {shares}"
    if test.answer is Answer.SAME:
        return (
            f"no difference found: INVALID in {shares}; one of "
            f"{rates.upper(test.widest * 100)} percentage points or more is excluded"
        )
    if not (first.runs and second.runs):
        return (
            f"cannot tell: no run of {labels[1] if first.runs else labels[0]} is VALID or INVALID"
        )
    if first.runs == second.runs == 1:
        return "cannot tell: one run on each side says nothing about rates"
    if min(first.runs, second.runs) < RUNS_MIN:
        return f"cannot tell, fewer than {RUNS_MIN} runs on a side: INVALID in {shares}"
    return f"cannot tell, too few runs: INVALID in {shares}"


def counted(rate: rates.Rate) -> str:
    """Return `14 of 20 runs (46 to 88 %)`."""
    noun = "run" if rate.runs == 1 else "runs"
    return f"{rate.failed} of {rate.runs} {noun} ({rates.span(*rate.interval)} %)"
