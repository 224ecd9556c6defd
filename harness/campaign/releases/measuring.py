"""Makes the runs that the table of releases lacks, and says how far it is."""

import pathlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from harness import clocks
from harness.campaign import campaign_plan, hunting, results
from harness.campaign.releases import answers, cells, ledgers
from harness.run import run_plan


class Progress(NamedTuple):
    """A run that has ended, and how far that is."""

    cell: cells.Cell
    answer: answers.Answer
    result: results.RunResult
    done: int
    planned: int
    left_s: float
    """Estimated time until all runs are made, in seconds."""


def make(
    plan: campaign_plan.CampaignPlan,
    asked: Sequence[cells.Cell],
    ledger: ledgers.Ledger,
    *,
    folder: pathlib.Path,
    on_run: Callable[[Progress], None],
) -> None:
    """Make all runs of the plan; each enters the ledger when it ends.

    Raises KeyboardInterrupt when the user interrupts it; what was at work then leaves nothing.
    """
    by_id = {cell.id: cell for cell in asked}
    planned = {run.number: by_id[run.scenario, run.tested] for run in plan.runs}
    estimate = _Estimate(planned)
    commit = run_plan.versions()["commit"]

    def listen(result: results.RunResult) -> None:
        cell = planned.get(result.number)
        if cell is None:
            return
        made = clocks.wall_text()
        ledger.add(ledgers.MadeRun(key=cell.key, commit=commit, made=made, result=result))
        left_s = estimate.after(result)
        answer = answers.of_run(result, cell.question.checks)
        on_run(Progress(cell, answer, result, estimate.done, len(plan.runs), left_s))

    hunting.hunt(plan, folder, listener=listen)


class _Estimate:
    """How long the runs that are left will take, by those of the same scenario."""

    def __init__(self, planned: Mapping[int, cells.Cell]) -> None:
        self._left = dict(planned)
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._begun_ns, self._worked_s = clocks.monotonic_ns(), 0.0
        self.done = 0

    def after(self, result: results.RunResult) -> float:
        """Return the seconds that are left when this run has ended."""
        del self._left[result.number]
        self.done += 1
        self._seconds[result.scenario].append(result.seconds)
        self._worked_s += result.seconds
        left_s = sum(self._expected(cell.question.scenario) for cell in self._left.values())
        passed_s = (clocks.monotonic_ns() - self._begun_ns) / 1e9
        return left_s * passed_s / self._worked_s

    def _expected(self, scenario: str) -> float:
        every = [item for of_one in self._seconds.values() for item in of_one]
        known = self._seconds.get(scenario) or every
        return sum(known) / len(known)
