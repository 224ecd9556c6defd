"""When a campaign ends: its time budget, the first failure (`--exit-first`), and what is left.

The first round makes every kind of run that the campaign has: the tested subject first, and short
runs before long ones. Each further round makes them again, without the controls, and the hazards
that a tested program is asked for only once more. All rounds are planned at once, more than the
time can have.

The budget is a target. When it ends, all runs end but the first ones of the kinds that decide,
which may take as long again. A run that is under way at its end is cut: it is judged as it is, and
counts only if it found what it looks for. A campaign some of whose kinds never had a whole run is
UNKNOWN, unless it is INVALID.

With `exit_first`, the first run that is not as expected ends the campaign: the other runs under way
are cut, as at the end of a time budget, and no further one begins.
"""

import enum
import math
import pathlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness import clocks, errors, seeds, writing
from harness.campaign import campaign_plan
from harness.checks import verdicts
from harness.history import results
from harness.history.purposes import Purpose

MARK = "ended-early"
"""Name of the empty file in a campaign's folder that tells its workers to end."""
SHORTEST_RUN_S = 2.0
"""No run takes less: starting its processes alone does."""
RUNS_MAX = 10_000
BEGIN_S = 3.0
"""Seconds that must be left for a run to begin."""
ENDING_S = 5.0
"""Seconds for stopping runs and writing pages; of a short budget a tenth."""
GRACE_S = 8.0
"""Seconds after the end in which a worker must have stopped its run; it is interrupted then."""
LONGER = 0.8
"""How much longer than the budget runs may go on that decide; stopping them takes time, too."""
MORE = 1.25
"""How much longer than forecast a budget has to be that is sure to do."""


class Ending(enum.StrEnum):
    """Why planned runs were not made, as a clause."""

    NONE = ""
    """All were made, or were not needed, or the time budget ended."""
    INTERRUPTED = "it was interrupted"
    FIRST = "it ended at the first run that was not as expected (--exit-first)"


_WHY_CUT = {
    Ending.NONE: "cut by its campaign's budget",
    Ending.INTERRUPTED: "interrupted",
    Ending.FIRST: "another run ended the campaign (--exit-first)",
}
_NAMED_MAX = 20
"""Runs that a sentence names."""


def require(minutes: float | None) -> None:
    if minutes is not None and minutes <= 0:
        raise errors.UsageError(
            f"expected --minutes with a time budget of more than 0, got {minutes:g}"
        )


def planned(
    plan: campaign_plan.CampaignPlan, minutes: float, *, begun_ns: int, jobs: int
) -> campaign_plan.CampaignPlan:
    """Return the plan with its rounds and the end of its budget, which began at `begun_ns`."""
    seconds = minutes * 60
    order = list(Purpose)  # each kind has one run before any has two
    first = sorted(
        plan.runs, key=lambda run: (run.repetition, order.index(run.purpose), run.estimate_s)
    )
    runs = _rounds(first, seconds * jobs)
    numbered = [msgspec.structs.replace(run, number=at) for at, run in enumerate(runs, start=1)]
    end_ns = begun_ns + int((seconds - min(ENDING_S, seconds / 10)) * 1e9)
    return msgspec.structs.replace(plan, runs=numbered, minutes=minutes, deadline_ns=end_ns)


def _rounds(
    ordered: Sequence[campaign_plan.PlannedRun], run_seconds: float
) -> Iterator[campaign_plan.PlannedRun]:
    yield from ordered
    again = [run for run in ordered if run.purpose is not Purpose.CONTROL]
    if not again:
        return
    wanted = min(run_seconds / SHORTEST_RUN_S, RUNS_MAX) - len(ordered)
    each = 1 + max(run.repetition for run in again)
    for number in range(1, 1 + math.ceil(max(wanted, 0) / len(again))):
        for run in again:
            if run.purpose is Purpose.ASKED and number > 1:
                continue
            seed = seeds.Seeds(run.seed).derive("round", number)
            yield msgspec.structs.replace(run, repetition=run.repetition + number * each, seed=seed)


class Budget:
    """The end of a campaign's time for each of its runs; `folder` has its results so far."""

    def __init__(self, plan: campaign_plan.CampaignPlan, folder: pathlib.Path) -> None:
        self._plan, self._folder = plan, folder
        self._deciding = {run.number for run in plan.kinds.values() if decides(run)}

    @property
    def ending(self) -> Ending:
        has_ended = self._plan.exit_first and (self._folder / MARK).exists()
        return Ending.FIRST if has_ended else Ending.NONE

    def end(self) -> None:
        writing.replace(self._folder / MARK, b"")

    def left_s(self, run: campaign_plan.PlannedRun | None = None) -> float:
        """Return the seconds that are left for a run, not positive after its end; None: for any."""
        if run is not None and self.ending:
            return 0.0
        if self._plan.deadline_ns is None:
            return math.inf
        may_be_longer = run is None or run.number in self._deciding
        longer_s = LONGER * 60 * self._plan.minutes * may_be_longer
        return (self._plan.deadline_ns - clocks.monotonic_ns()) / 1e9 + longer_s

    def has_time_for(self, run: campaign_plan.PlannedRun) -> bool:
        return self.left_s(run) > BEGIN_S


def decides(run: campaign_plan.PlannedRun) -> bool:
    """Return whether a campaign without such a run is UNKNOWN: no answer of a hazard decides."""
    return run.purpose is not Purpose.ASKED


def minutes_that_do(plan: campaign_plan.CampaignPlan, found: Iterable[results.RunResult]) -> int:
    """Return a budget in which each kind has a run, by the runs on this machine and cluster.

    Runs without a result take as much longer than estimated as the others did.
    """
    taken_s = {result.kind: result.seconds for result in found if not result.cut}
    known_s = taken_s or {plan.runs[0].kind: max(60 * plan.minutes, plan.runs[0].estimate_s)}
    slower = sum(known_s.values()) / sum(plan.kinds[kind].estimate_s for kind in known_s)
    needed_s = sum(taken_s.get(run.kind, run.estimate_s * slower) for run in plan.kinds.values())
    return math.ceil(max(MORE * needed_s / 60 / max(plan.jobs, 1), plan.minutes + 1))


def cut(
    run: campaign_plan.PlannedRun, *, seconds: float, ending: Ending = Ending.NONE
) -> results.RunResult:
    """Return the result of a run that was begun and left nothing else."""
    return run.result(seconds=seconds, cut=True, reason=_WHY_CUT[ending])


def unexamined(
    plan: campaign_plan.CampaignPlan, table: Iterable[results.Row], ending: Ending
) -> list[campaign_plan.PlannedRun]:
    """Return one run of each kind that had no run, of a campaign that can end before them."""
    if not (plan.minutes or ending):
        return []
    made = {row.kind for row in table}
    return [run for kind, run in plan.kinds.items() if kind not in made]


def not_made(plan: campaign_plan.CampaignPlan, found: Iterable[results.RunResult]) -> int:
    """Return the number of planned runs that have no result, or only one of a cut."""
    return len(plan.runs) - len({result.number for result in found if not result.cut})


def summary(
    left: Sequence[object],
    plan: campaign_plan.CampaignPlan,
    found: Iterable[results.RunResult],
    minutes: int,
    *,
    ending: Ending,
) -> Iterator[str]:
    """Yield the sentence that says what a campaign did not come to, if there is anything.

    `left` has a run of each kind that had none; `minutes` would do for all; 0: that is not said.
    """
    why = ending or f"the budget of {plan.minutes:g} minutes ended"
    if ending is Ending.FIRST:
        count = verdicts.counted(len(plan.runs), "planned run")
        yield f"{why}, so that {not_made(plan, found)} of {count} were not made"
    elif left:
        will_do = f" (--minutes {minutes} will do)" * bool(minutes)
        kinds = verdicts.counted(len(plan.kinds), "kind")
        yield f"{why} before {len(left)} of {kinds} of runs had one{will_do}"


def notes(
    left: Sequence[campaign_plan.PlannedRun], found: Iterable[results.RunResult]
) -> Iterator[str]:
    """Yield the sentences that name what was not examined, and the runs that were cut."""
    ended = [f"{run.scenario} with {run.subject}" for run in found if run.cut]
    kinds = [f"{run.title} with {run.subject}" for run in left]
    for head, names in (("no run was made of", kinds), ("cut, and not counted", ended)):
        if names:
            more = len(names) - _NAMED_MAX
            yield f"{head}: {', '.join(names[:_NAMED_MAX])}" + f", {more} more" * (more > 0)
