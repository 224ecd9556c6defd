"""Throughput and latency on two sides: their spread over the runs, and whether they differ.

Each run contributes one figure, since the pods within a run depend on each other. UNKNOWN runs have
no part: their load may have been cut short.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from harness.checks import verdicts
from harness.comparison import documents, run_groups, sides
from harness.comparison.documents import Answer
from harness.model import figures
from harness.seeds import Seeds
from harness.statistics import rank_tests, rates

MEASURES = tuple(
    figures.FIGURES[name]
    for name in (
        "allocations_per_s",
        "claim_to_allocation.p50_ms",
        "claim_to_allocation.p99_ms",
        "pod_to_running.p50_ms",
        "pod_to_running.p99_ms",
    )
)
"""The figures that runs are compared by."""


@dataclasses.dataclass(slots=True)
class Test:
    """One test of a figure, whose answer needs those of all others."""

    measure: figures.Figure
    first: Sequence[float]
    second: Sequence[float]
    seed: int
    p_value: float
    corrected: float | None = None
    answer: Answer = Answer.UNDECIDED

    @property
    def least_p_value(self) -> float:
        """The smallest p-value that this number of runs can have."""
        return rank_tests.least_p_value(len(self.first), len(self.second))

    def is_close(self, *, confidence: float) -> bool:
        """Return True: no size of a difference of times is large by itself."""
        del confidence
        return True

    def document(self) -> documents.TimeComparison:
        """Return the comparison with its answer."""
        change = rank_tests.difference(
            self.first, self.second, confidence=rates.CONFIDENCE, seed=self.seed
        )
        return documents.TimeComparison(
            name=self.measure.title,
            unit=self.measure.unit,
            first=_spread(self.first),
            second=_spread(self.second),
            change_low=change.low if change else None,
            change_high=change.high if change else None,
            p_value=self.p_value,
            corrected_p_value=self.corrected,
            answer=self.answer,
        )


def why_not(first: run_groups.Group, second: run_groups.Group, *, same_machine: bool) -> str:
    """Return why times are not compared; empty: they are."""
    if first.until_found != second.until_found:
        shorter = first.side if first.until_found else second.side
        return f"runs of {shorter} end at the first double allocation, those of the other do not"
    boots = {run.plan.boot_id for run in (*first.runs, *second.runs)}
    if len(boots) > 1 and not same_machine:
        return (
            "the runs were made on different machines, or before and after a restart; if the "
            "machine is the same, --same-machine compares them"
        )
    if run_groups.jobs(first) != run_groups.jobs(second):
        return (
            f"runs of {first.side} shared the machine otherwise than those of {second.side}: "
            f"--jobs was {run_groups.jobs(first)} and {run_groups.jobs(second)}"
        )
    return ""


def tests(first: run_groups.Group, second: run_groups.Group, *, seeds: Seeds) -> Iterator[Test]:
    """Yield the tests of all figures that runs of both groups have."""
    for measure in MEASURES:
        values = _values(first.runs, measure), _values(second.runs, measure)
        if values[0] and values[1]:
            seed = seeds.derive(
                first.side, second.side, first.scenario, first.subject, measure.title
            )
            p_value = rank_tests.p_value(*values, seed=seed)
            yield Test(measure, *values, seed=seed, p_value=p_value)


def _values(runs: Iterable[sides.Run], measure: figures.Figure) -> list[float]:
    found = (
        figures.value(run.verdict.figures, measure.name)
        for run in runs
        if run.verdict.verdict is not verdicts.Verdict.UNKNOWN
    )
    return [value for value in found if value is not None]


def _spread(values: Sequence[float]) -> documents.Spread:
    if not values:
        return documents.Spread(runs=0)
    least, quarter, median, three_quarters, most = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    return documents.Spread(
        runs=len(values),
        least=float(least),
        quarter=float(quarter),
        median=float(median),
        three_quarters=float(three_quarters),
        most=float(most),
    )
