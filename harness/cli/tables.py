"""What a campaign shows: a bar while it runs, the closing table, and what to do about it."""

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator

import rich.progress
import rich.table

from harness.campaign import planning, results
from harness.cli import displaying
from harness.report import campaign_index


@contextlib.contextmanager
def campaign_progress(total: int) -> Iterator[Callable[[results.RunResult], None]]:
    """A progress display; yields what is to be called with each result."""
    console = displaying.console(stderr=True)
    columns = (
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("hunting"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
    )
    with rich.progress.Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("hunting", total=total)
        done = 0

        def on_result(result: results.RunResult) -> None:
            nonlocal done
            is_last = bool(result.error) or not result.is_control or _is_caught(result)
            done += is_last
            bars.update(task, completed=done)
            bars.console.print(_line(result), markup=False, soft_wrap=True)

        yield on_result


def _is_caught(result: results.RunResult) -> bool:
    return result.double_allocations > 0


def _line(result: results.RunResult) -> str:
    what = result.verdict or "ERROR"
    text = result.error.splitlines()[-1] if result.error else result.reason
    return f"{what:<8}{result.scenario}, {result.subject}: {text} ({result.seconds:.1f} s)"


def show(
    found: list[results.RunResult], plan: planning.CampaignPlan, *, folder: pathlib.Path
) -> int:
    """The closing table, and the index of the runs as a page; returns the exit code."""
    table = results.rows(found)
    console = displaying.console()
    console.print(_table(table))
    code = results.exit_code(table, len(plan.runs))
    verdict = results.verdict(table)
    style = displaying.STYLES[verdict] if code != results.HARNESS_ERROR else "bold red"
    name, _, summary = headline(table, code).partition(" ")
    console.print(f"[{style}]{name}[/] {summary}", soft_wrap=True)
    for row in table:
        for error in row.errors:
            console.print(f"  {row.scenario}, {row.subject}: {error}", markup=False, soft_wrap=True)
    index = folder / "index.html"
    campaign_index.render(
        index, _index_rows(table, folder), verdict=verdict, seed=plan.seed, summary=_summary(table)
    )
    console.print(f"  {index}", markup=False, soft_wrap=True)
    return code


def headline(table: list[results.Row], code: int) -> str:
    """The verdict of a campaign with this exit code, and its figures."""
    name = "ERROR" if code == results.HARNESS_ERROR else str(results.verdict(table))
    return f"{name} {_summary(table)}"


def _index_rows(table: list[results.Row], folder: pathlib.Path) -> list[campaign_index.Row]:
    return [
        campaign_index.Row(
            scenario=row.scenario,
            subject=row.subject,
            is_as_expected=row.is_as_expected,
            verdict=str(row.verdict),
            caught=row.caught if row.is_control else None,
            claims=row.claims,
            double_allocations=row.double_allocations,
            seconds=row.seconds,
            runs=[_index_run(run, folder) for run in row.runs],
        )
        for row in table
    ]


def _index_run(run: results.RunResult, folder: pathlib.Path) -> campaign_index.Run:
    report = pathlib.Path(run.directory) / "report.html"
    return campaign_index.Run(
        verdict=str(run.verdict or "ERROR"),
        reason=run.error or run.reason,
        link=os.path.relpath(report, folder) if run.directory else "",
        seconds=run.seconds,
    )


def _table(table: list[results.Row]) -> rich.table.Table:
    drawn = rich.table.Table(box=None, pad_edge=False)
    for name in ("scenario", "subject"):
        drawn.add_column(name)
    for name in ("runs", "caught", "claims", "double allocations"):
        drawn.add_column(name, justify="right", no_wrap=name != "double allocations")
    drawn.add_column("verdict", no_wrap=True)
    drawn.add_column("seconds", justify="right", no_wrap=True)
    for row in table:
        drawn.add_row(
            row.scenario,
            row.subject,
            str(len(row.runs)),
            str(row.caught) if row.is_control else "",
            str(row.claims),
            str(row.double_allocations),
            _verdict(row),
            f"{row.seconds:.1f}",
        )
    return drawn


def _verdict(row: results.Row) -> str:
    """Coloured by what was expected: a control has to be caught, and the correct subject must not be."""
    style = "green" if row.is_as_expected else "bold red"
    what = "ERROR" if row.errors and not row.caught else str(row.verdict)
    return f"[{style}]{what}[/]"


def _summary(table: list[results.Row]) -> str:
    subject = [row for row in table if not row.is_control]
    controls = [row for row in table if row.is_control]
    caught = sum(row.is_as_expected for row in controls)
    runs, doubles = (
        sum(len(row.runs) for row in subject),
        sum(row.double_allocations for row in subject),
    )
    return (
        f"{doubles} double allocations in {runs} runs of the correct subject; "
        f"{caught} of {len(controls)} positive controls caught"
    )
