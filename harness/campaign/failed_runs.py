"""The runs of the newest campaign that were not as expected, to be made again (`--last-failed`).

As with pytest, a campaign in which nothing failed is made again as a whole; and a failed run stays
failed until it was made again: one that a campaign of failed runs did not come to is among the next
ones.
"""

import pathlib
from collections.abc import Iterator, Sequence

import msgspec

from harness import clocks, errors
from harness.campaign import campaign_plan
from harness.checks import verdicts
from harness.history import campaign_folders, report_folders, results


def planned(reports: pathlib.Path) -> campaign_plan.CampaignPlan:
    """Return the plan that makes the failed runs of the newest campaign again with their seeds; all
    runs, if none failed.

    It has the time budget of the campaign, which `budgets.planned` begins. Its subjects are as they
    are now. Raises UsageError if there is no campaign or it is damaged, and UsageError or
    ScenarioError for a subject that is gone.
    """
    folders = report_folders.folders(reports / campaign_folders.FOLDER)
    found = max(filter(campaign_folders.is_one, folders), default=None)
    if found is None:
        raise errors.UsageError(
            f"expected a campaign in {reports}, whose failed runs --last-failed makes again, but "
            "there is none: name its folder with --reports, or leave --last-failed out"
        )
    try:
        plan, made = campaign_plan.read(found / campaign_folders.PLAN), results.read(found)
    except errors.HistoryError as error:
        raise errors.UsageError(
            f"expected a whole campaign for --last-failed, got one that is damaged ({error}): "
            f"remove {found}, or leave --last-failed out"
        ) from error
    failed = list(_failed(plan, made))
    all_runs = [*plan.kinds.values()] if plan.minutes else plan.runs
    chosen, versions = campaign_plan.as_they_are_now(plan, failed or all_runs)
    return msgspec.structs.replace(
        plan,
        reports=str(reports.resolve()),
        started=clocks.wall_text(),
        deadline_ns=None,
        done=[],
        again=[],
        exit_first=False,
        selection=[
            f"only what failed{' or had no run' * bool(plan.minutes)} in {found.name}, "
            f"{verdicts.counted(len(failed), 'run')}, was to be made again"
            if failed
            else f"nothing failed in {found.name}, so all of it was to be made again"
        ],
        failed_in=found.name if failed else "",
        versions=versions,
        runs=[msgspec.structs.replace(run, number=at) for at, run in enumerate(chosen, start=1)],
    )


def _failed(
    plan: campaign_plan.CampaignPlan, made: Sequence[results.RunResult]
) -> Iterator[campaign_plan.PlannedRun]:
    """Of a campaign with a time budget also the first run of each kind that had none."""
    last = {result.number: result for result in results.in_plan_order(made)}
    had_runs = {result.kind for result in made if not result.cut}
    left = {run.number for kind, run in plan.kinds.items() if kind not in had_runs}
    for run in plan.runs:
        result = last.get(run.number)
        if result is None or result.cut:
            has_failed = bool(plan.failed_in and not plan.minutes)
        else:
            has_failed = not result.is_as_expected
        if has_failed or (plan.minutes and run.number in left):
            yield run
