"""Options that make failed runs again, that end a campaign early, or only show it."""

import dataclasses
import pathlib
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan

RUNS_SHOWN = 200
"""Runs that --dry-run prints; its JSON has all."""
LastFailed = Annotated[
    bool,
    typer.Option(
        "--last-failed",
        "--lf",
        help="Make again what was not as expected in the newest campaign of --reports, with the same seeds; all of it, if "
        "nothing failed.",
    ),
]
ExitFirst = Annotated[
    bool,
    typer.Option(
        "--exit-first",
        "-x",
        help="End at the first run that is not as expected. Others under way are cut, and all pages are written.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print the runs in their order; make none, and write nothing.",
    ),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOptions:
    """The options that end a campaign early, or only show it."""

    exit_first: ExitFirst = False
    dry_run: DryRun = False


def failed_again(context: typer.Context, reports: pathlib.Path) -> "campaign_plan.CampaignPlan":
    """Return the plan that makes again what failed in the newest campaign of a folder.

    Raises UsageError if there is none, or an option is given that has no effect beside it.
    """
    from harness.campaign import failed_runs

    require_no_other_options(
        context,
        WITH_LAST_FAILED,
        "--last-failed alone, because it takes all other options from that campaign",
    )
    return failed_runs.planned(failed_runs.newest(reports), reports)


WITH_LAST_FAILED = frozenset(
    {"last_failed", "exit_first", "dry_run", "minutes", "jobs"}
    | {"summary", "reports", "output", "verbose"}
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
    form: outputs.OutputOptions,
) -> int:
    """Print what a campaign would make, whose first round has `first` runs; return 0."""
    runs = plan.runs[:first]
    with form.chosen() as out:
        if out.is_json:
            out.document({"seed": plan.seed, "selection": plan.selection, "runs": runs})
            return 0
        for line in (f"seed {plan.seed}", *_lines(runs), *plan.selection):
            out.note(line)
        rounds = f"; all but the controls are repeated until {plan.minutes:g} minutes are used"
        again = rounds * bool(plan.minutes)
        print(f"{outputs.counted(len(runs), 'run')}, {jobs} at once{again}")
    return 0


def _lines(runs: "Sequence[campaign_plan.PlannedRun]") -> Iterator[str]:
    from harness.report import escaping

    rows = [
        (run.purpose, f"{run.title}{f' ({run.hypothesis})' * bool(run.hypothesis)}", run.subject)
        for run in runs[:RUNS_SHOWN]
    ]
    yield from map(escaping.visible, outputs.aligned(rows))
    if len(runs) > RUNS_SHOWN:
        yield f"and {len(runs) - RUNS_SHOWN} more, which --output json lists"
