"""The time budget of a campaign: the runs that it plans, when it ends, and what it leaves undone.

The first round makes every kind of run that the campaign has; each further round makes them again,
without the controls, and the hazards that a tested program is asked for only once more. All rounds
are planned at once, more than the time can have. A run that is under way when the time ends is cut:
it is judged as it is, and counts only if it found what it looks for. A campaign some of whose kinds
never had a whole run is UNKNOWN, unless it is INVALID.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness import clocks, errors, seeds
from harness.campaign import campaign_plan, results
from harness.campaign.endings import Ending
from harness.campaign.purposes import Purpose
from harness.checks import verdicts

SHORTEST_RUN_S = 2.0
"""No run takes less: starting its processes alone does."""
RUNS_MAX = 10_000
"""Most runs that are planned."""
BEGIN_S = 3.0
"""Seconds that must be left for a run to begin."""
ENDING_S = 5.0
"""Seconds for stopping runs and writing pages; of a short budget a tenth."""
GRACE_S = 8.0
"""Seconds after the end in which a worker must have stopped its run; it is interrupted then."""
_WHY_CUT = {
    Ending.NONE: "the time budget ended during the run",
    Ending.INTERRUPTED: "interrupted",
    Ending.FIRST: "another run ended the campaign (--exit-first)",
}
_NAMED_MAX = 20
"""Runs that a sentence names."""


def require(minutes: float | None) -> None:
    """Raise UsageError for a budget without any time."""
    if minutes is not None and minutes <= 0:
        raise errors.UsageError(
            f"expected --minutes with a time budget of more than 0, got {minutes:g}"
        )


def planned(
    plan: campaign_plan.CampaignPlan, minutes: float, *, begun_ns: int, jobs: int
) -> campaign_plan.CampaignPlan:
    """Return the plan with its rounds and the end of its budget, which began at `begun_ns`."""
    seconds = minutes * 60
    first = _first_round(plan.runs, controls_first=plan.program is not None)
    runs = plan.runs if plan.until_decided else list(_rounds(first, seconds * jobs))
    numbered = [msgspec.structs.replace(run, number=at) for at, run in enumerate(runs, start=1)]
    end_ns = begun_ns + int((seconds - min(ENDING_S, seconds / 10)) * 1e9)
    return msgspec.structs.replace(plan, runs=numbered, minutes=minutes, deadline_ns=end_ns)


def _first_round(
    runs: Sequence[campaign_plan.PlannedRun], *, controls_first: bool
) -> list[campaign_plan.PlannedRun]:
    """Return the runs of the first round: each kind has one before any has two.

    Controls are short. A test begins with them, because a worker that has a long run already has
    the next one, too, and that one may have to wait.
    """
    return sorted(
        runs,
        key=lambda run: (
            run.repetition,
            run.purpose.must_fail != controls_first,
            list(Purpose).index(run.purpose),
        ),
    )


def _rounds(
    ordered: Sequence[campaign_plan.PlannedRun], run_seconds: float
) -> Iterator[campaign_plan.PlannedRun]:
    """Yield the runs of all rounds, of which these are the first one."""
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


def has_ended(plan: campaign_plan.CampaignPlan, *, before_s: float = 0.0) -> bool:
    """Return whether the budget of a plan has ended, or will within `before_s`."""
    is_limited = plan.deadline_ns is not None
    return is_limited and clocks.monotonic_ns() >= (plan.deadline_ns or 0) - before_s * 1e9


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
    made = {(row.purpose, row.scenario, row.subject, row.hypothesis) for row in table}
    kinds = {(run.purpose, run.title, run.subject, run.hypothesis): run for run in plan.runs}
    return [run for key, run in kinds.items() if key not in made]


def are_needed(left: Iterable[campaign_plan.PlannedRun]) -> bool:
    """Return whether a campaign without these runs is UNKNOWN: no answer of a hazard decides."""
    return any(run.purpose is not Purpose.ASKED for run in left)


def summary(
    left: Sequence[object], plan: campaign_plan.CampaignPlan, *, ending: Ending, not_made: int
) -> Iterator[str]:
    """Yield the sentence that says what a campaign did not come to, if there is anything.

    `left` has a run of each kind that had none.
    """
    kinds = {(run.purpose, run.title, run.subject, run.hypothesis) for run in plan.runs}
    why = ending or f"the budget of {plan.minutes:g} minutes ended"
    if ending is Ending.FIRST:
        count = verdicts.counted(len(plan.runs), "planned run")
        yield f"{why}, so that {not_made} of {count} were not made"
    elif left:
        yield f"{why} before {len(left)} of {verdicts.counted(len(kinds), 'kind')} of runs had one"


def notes(
    left: Sequence[campaign_plan.PlannedRun], cut_results: Iterable[results.RunResult]
) -> list[str]:
    """Return the sentences that name what was not examined, and the runs that were cut."""
    ended = [f"{run.scenario} with {run.subject}" for run in cut_results]
    kinds = [f"{run.title} with {run.subject}" for run in left]
    texts = (("no run was made of", kinds), ("cut, and not counted", ended))
    return [f"{head}: {_named(names)}" for head, names in texts if names]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + f", {more} more" * (more > 0)
