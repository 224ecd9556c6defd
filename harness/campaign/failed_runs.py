"""The runs of the newest campaign that were not as expected, to be made again (`--last-failed`).

As with pytest, a campaign in which nothing failed is made again as a whole; and a failed run stays
failed until it was made again: one that a campaign of failed runs did not come to is among the next
ones.
"""

import dataclasses
import pathlib

import msgspec

from harness import clocks, errors
from harness.campaign import campaign_plan
from harness.checks import verdicts
from harness.history import campaign_folders, report_folders, results


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """An earlier campaign."""

    folder: pathlib.Path
    plan: campaign_plan.CampaignPlan
    made: list[results.RunResult]

    @property
    def failed(self) -> list[campaign_plan.PlannedRun]:
        """The planned runs that were not as expected in their last attempt.

        Of a campaign with a time budget also the first run of each kind that had none.
        """
        last = {result.number: result for result in results.in_plan_order(self.made)}
        made = {result.kind for result in self.made if not result.cut}
        left = {run.number for kind, run in self.plan.kinds.items() if kind not in made}
        return [
            run
            for run in self.plan.runs
            if self._has_failed(last.get(run.number)) or (self.plan.minutes and run.number in left)
        ]

    def _has_failed(self, result: results.RunResult | None) -> bool:
        if result is None or result.cut:
            return bool(self.plan.failed_in and not self.plan.minutes)
        return not result.is_as_expected


def newest(reports: pathlib.Path) -> Campaign:
    """Return the newest campaign of a folder of reports.

    Raises UsageError if there is none, or it is damaged.
    """
    folders = report_folders.folders(reports / campaign_folders.FOLDER)
    found = max(filter(campaign_folders.is_one, folders), default=None)
    if found is None:
        raise errors.UsageError(
            f"expected a campaign in {reports}, whose failed runs --last-failed makes again, but "
            "there is none: name its folder with --reports, or leave --last-failed out"
        )
    try:
        return read(found)
    except errors.HistoryError as error:
        raise errors.UsageError(
            f"expected a whole campaign for --last-failed, got one that is damaged ({error}): "
            f"remove {found}, or leave --last-failed out"
        ) from error


def read(folder: pathlib.Path) -> Campaign:
    """Return a campaign with the whole lines of its results.

    Raises HistoryError if it is damaged.
    """
    plan = campaign_plan.read(folder / campaign_folders.PLAN)
    return Campaign(folder=folder, plan=plan, made=results.read(folder))


def planned(earlier: Campaign, reports: pathlib.Path) -> campaign_plan.CampaignPlan:
    """Return the plan that makes the failed runs again with their seeds; all, if none failed.

    It has the time budget of the campaign, which `budgets.planned` begins. Its subjects are as they
    are now. Raises UsageError or ScenarioError for one that is gone.
    """
    all_runs = [*earlier.plan.kinds.values()] if earlier.plan.minutes else earlier.plan.runs
    chosen = earlier.failed or all_runs
    chosen, versions = campaign_plan.as_they_are_now(earlier.plan, chosen)
    return msgspec.structs.replace(
        earlier.plan,
        reports=str(reports.resolve()),
        started=clocks.wall_text(),
        deadline_ns=None,
        done=[],
        again=[],
        exit_first=False,
        selection=[told(earlier)],
        failed_in=earlier.folder.name if earlier.failed else "",
        versions=versions,
        runs=[msgspec.structs.replace(run, number=at) for at, run in enumerate(chosen, start=1)],
    )


def told(earlier: Campaign) -> str:
    made = len({result.number for result in earlier.made if not result.cut})
    name, failed, planned = earlier.folder.name, len(earlier.failed), len(earlier.plan.runs)
    if failed and earlier.plan.minutes:
        runs = verdicts.counted(failed, "run")
        return f"only what failed or had no run in {name}, {runs}, was to be made again"
    if not failed:
        runs = verdicts.counted(made, "run")
        return f"nothing failed in {runs} of {name}, so all of it was to be made again"
    runs = verdicts.counted(planned, "run")
    return f"only what failed in {name}, {failed} of {runs}, was to be made again"
