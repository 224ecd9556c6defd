"""Progress and closing table of a campaign."""

import contextlib
import os
import pathlib
import shlex
import textwrap
from collections.abc import Callable, Iterator

import rich.console
import rich.markup
import rich.progress
import rich.table
import rich.text

from harness.campaign import campaign_documents
from harness.checks import verdicts
from harness.cli.terminal import displaying, outputs
from harness.history import campaign_folders, purposes, results
from harness.history.purposes import Purpose
from harness.report import escaping

PROBLEMS_MAX = 10


@contextlib.contextmanager
def campaign_progress(
    total: int | None, out: outputs.Output, shown_on: rich.console.Console | None = None
) -> Iterator[Callable[[results.RunResult], None]]:
    """Show progress; yield the function to call with each result.

    `total` None: a campaign with a time budget, whose number of runs is not known.
    """
    if out.is_quiet:
        yield lambda _: None
        return
    columns = (
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("hunting"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TextColumn("runs"),
        rich.progress.TimeElapsedColumn(),
    )
    with displaying.progress(*columns, on=shown_on or displaying.console(stderr=True)) as bars:
        task = bars.add_task("hunting", total=total)

        def on_result(result: results.RunResult) -> None:
            bars.advance(task, not result.is_tried_again)
            word, style, text = line(result)
            about = escaping.visible(text)
            whole = rich.text.Text.assemble((f"{word:<11}", style), about)
            bars.console.print(whole, soft_wrap=True)
            if out.is_verbose and result.directory:
                bars.console.print(f"{'':<11}{result.directory}", markup=False, soft_wrap=True)

        yield on_result


def line(result: results.RunResult) -> tuple[str, str, str]:
    about = ", ".join(filter(None, (result.scenario, result.hypothesis, result.subject)))
    took = f"({result.seconds:.1f} s)"
    if result.cut:
        return "CUT", "yellow", f"{about}: {result.reason} {took}"
    if result.error:
        return "ERROR", "bold red", f"{about}: {result.error.splitlines()[-1]} {took}"
    if result.is_missed:
        then = ", trying again" if result.is_tried_again else ""
        attempt = f"attempt {result.attempt + 1} of {purposes.ATTEMPTS}"
        word = f"not {result.purpose.found}".upper()
        return word, "bold yellow", f"{about}: {attempt}{then} {took}"
    if result.purpose is Purpose.ASKED and result.verdict is verdicts.Verdict.VALID:
        return "NOT SHOWN", "green", f"{about}: {result.reason} {took}"
    is_shown = result.purpose.is_of_hazard and result.is_found and not result.is_regression
    if is_shown or result.purpose.must_fail:
        return result.purpose.found.upper(), "green", f"{about}: {result.reason} {took}"
    style = displaying.STYLES[result.verdict or verdicts.Verdict.UNKNOWN]
    return str(result.verdict), style, f"{about}: {result.reason} {took}"


def show(
    document: campaign_documents.CampaignDocument,
    folder: pathlib.Path,
    out: outputs.Output,
) -> None:
    if out.is_json:
        out.document(document)
        return
    console = displaying.console()
    if not out.is_quiet:
        console.print(_table(document.rows, console.width))
    for text in [*document.sentences, *_problems(document.problems)]:
        console.print(f"  {escaping.visible(text)}", markup=False, soft_wrap=True)
    for row in document.rows:
        for error in row.errors:
            console.print(f"  {row.scenario}, {row.subject}: {error}", markup=False, soft_wrap=True)
    is_broken = document.exit_code in campaign_documents.ERRORS
    style = "bold red" if is_broken else displaying.STYLES[verdicts.Verdict(document.verdict)]
    shown = rich.markup.escape(escaping.visible(document.summary))
    console.print(f"[{style}]{document.verdict}[/] {shown}", soft_wrap=True)
    if not out.is_quiet:
        console.print(f"  {folder / campaign_folders.INDEX}", markup=False, soft_wrap=True)
    if document.program is not None and not out.is_quiet:
        reports = shlex.quote(os.path.relpath(folder.parent.parent))
        console.print(f"  flake-hunt serve {reports}   shows it in the browser", markup=False)


def _problems(problems: list[str]) -> list[str]:
    left = len(problems) - PROBLEMS_MAX
    more = [f"and {left} more, which results.json has"] if left > 0 else []
    return [*problems[:PROBLEMS_MAX], *more]


def _table(table: list[results.Row], width: int) -> rich.table.Table:
    names_width = max((width - _FIGURES_WIDTH) // 2, 1)
    rows: list[list[rich.text.Text | str]] = []
    for purpose in Purpose:
        group = results.of_purpose(table, purpose)
        if group and len(group) < len(table):
            rows.append([rich.text.Text(_wrapped(purpose.heading, names_width), "bold")])
        rows += [_cells(row, names_width) for row in group]
    drawn = displaying.table(_TITLES, rows, right=_NUMBERS, unbroken=_UNBROKEN)
    drawn.collapse_padding = width < displaying.WIDE
    return drawn


_NUMBERS = ("runs", "found", "claims", "double allocations", "breaks", "seconds")
_TITLES = ("scenario", "subject", *_NUMBERS[:-1], "verdict", "seconds")
_UNBROKEN = frozenset(_TITLES) - {"scenario", "subject", "double allocations"}
_FIGURES_WIDTH = 55
"""Columns of the terminal that everything but the names needs."""


def _wrapped(name: str, width: int) -> str:
    """Return a name in lines that end between its words; rich cuts them anywhere."""
    return "\n".join(textwrap.wrap(name, width, break_long_words=False))


def _cells(row: results.Row, names_width: int) -> list[rich.text.Text | str]:
    scenario = f"{row.scenario} ({row.hypothesis})" if row.hypothesis else row.scenario
    names = (_wrapped(escaping.visible(name), names_width) for name in (scenario, row.subject))
    counts = (len(row.runs), row.caught, row.claims, row.double_allocations, row.breaks)
    return [
        *map(rich.text.Text, names),
        *map(str, counts),
        rich.text.Text(row.word, "green" if row.is_as_expected else "bold red"),
        f"{row.seconds:.1f}",
    ]
