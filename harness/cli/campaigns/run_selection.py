"""Options that choose among the runs of a campaign, that end it early, or only show it."""

import dataclasses
import pathlib
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan
    from harness.campaign.selection import forecasts

_PANEL = "Selection"
RUNS_SHOWN = 200
"""Runs that --dry-run prints; its JSON has all."""
Keyword = Annotated[
    str,
    typer.Option(
        "-k",
        metavar="EXPRESSION",
        rich_help_panel=_PANEL,
        help="Make only the runs that match, as in pytest: 'pod-churn and not control'. Words are parts of names of "
        "scenarios, subjects and defects, or a purpose (subject, control, hazard, remedy), or a hazard (H3).",
    ),
]
LastFailed = Annotated[
    bool,
    typer.Option(
        "--last-failed",
        "--lf",
        rich_help_panel=_PANEL,
        help="Make again what was not as expected in the newest campaign of --reports, with the same seeds; all of it, if "
        "nothing failed.",
    ),
]
ExitFirst = Annotated[
    bool,
    typer.Option(
        "--exit-first",
        "-x",
        rich_help_panel=_PANEL,
        help="End at the first run that is not as expected. Others under way are cut, and all pages are written.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        rich_help_panel=_PANEL,
        help="Print the runs in their order, and how long they take; make none, and write nothing.",
    ),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOptions:
    """The options that choose among the runs of a campaign, end it early, or only show it."""

    keyword: Keyword = ""
    exit_first: ExitFirst = False
    dry_run: DryRun = False

    def chosen(self, plan: "campaign_plan.CampaignPlan") -> "campaign_plan.CampaignPlan":
        """Return the plan with the chosen runs; raise UsageError if nothing is chosen."""
        import msgspec

        from harness.campaign.selection import expressions

        chosen = expressions.select(plan, self.keyword)
        return msgspec.structs.replace(chosen, exit_first=self.exit_first)


def failed_again(context: typer.Context, reports: pathlib.Path) -> "campaign_plan.CampaignPlan":
    """Return the plan that makes again what failed in the newest campaign of a folder.

    Raises UsageError if there is none, or an option is given that has no effect beside it.
    """
    from harness.campaign.selection import failed_runs

    require_no_other_options(
        context,
        WITH_LAST_FAILED,
        "--last-failed alone, because it takes all other options from that campaign",
    )
    return failed_runs.planned(failed_runs.newest(reports), reports)


WITH_LAST_FAILED = frozenset(
    {"keyword", "last_failed", "exit_first", "dry_run", "minutes", "jobs", "keep"}
    | {"summary", "reports", "force", "output", "quiet", "verbose"}
)
"""Parameters of commands that an earlier campaign has not decided."""


def require_no_other_options(context: typer.Context, allowed: Collection[str], with_: str) -> None:
    """Raise UsageError for an option that is given and not allowed; `with_` says with what."""
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name not in allowed and _is_given(context, str(parameter.name))
    ]
    if given:
        raise errors.UsageError(f"expected {with_}, got {', '.join(given)} too: leave that out")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def show(
    plan: "campaign_plan.CampaignPlan",
    *,
    first: int,
    jobs: int,
    reports: pathlib.Path,
    form: str,
    is_quiet: bool,
) -> int:
    """Print what a campaign would make, whose first round has `first` runs; return 0."""
    from harness.campaign.selection import forecasts

    found = forecasts.forecast(plan, jobs=jobs, reports=reports, first=first)
    with outputs.chosen(form, quiet=is_quiet) as out:
        if out.is_json:
            out.document(found)
            return 0
        out.note(f"seed {plan.seed}")
        for line in _lines(found):
            out.note(line)
        print(_total(found))
    return 0


def _lines(found: "forecasts.Forecast") -> list[str]:
    from harness.report import escaping

    shown = found.runs[:RUNS_SHOWN]
    rows = [
        (
            _time(run.seconds, run.is_measured),
            run.purpose,
            f"{run.scenario}{_hazard(run)}",
            run.subject,
        )
        for run in shown
    ]
    more = len(found.runs) - len(shown)
    lines = [escaping.visible(line) for line in outputs.aligned(rows)]
    left = [f"and {more} more, which --output json lists"] if more else []
    return [*lines, *left, *found.selection]


def _hazard(run: "forecasts.Run") -> str:
    return f" ({run.hypothesis})" * bool(run.hypothesis)


def _time(seconds: float, is_measured: bool) -> str:  # noqa: FBT001
    return f"{'' if is_measured else '~'}{seconds:.0f} s".rjust(6)


def _total(found: "forecasts.Forecast") -> str:
    """Return how long all runs take, and where that is from."""
    guessed = sum(not run.is_measured for run in found.runs)
    runs = outputs.counted(len(found.runs), "run")
    estimates = f"; {guessed} of the times (~) are estimates" * bool(guessed)
    rounds = f"; all but the controls are repeated until {found.minutes:g} minutes are used" * bool(
        found.minutes
    )
    return f"{runs}, about {_duration(found.seconds)} with {found.jobs} at once{estimates}{rounds}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
