"""`flake-hunt trends add|page`: the nights in a database, and what changed from night to night."""

import pathlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.comparison.trends import trend_documents

Database = Annotated[
    pathlib.Path,
    typer.Option("--database", metavar="FILE", help="The database of nights, one SQLite file."),
]
DATABASE = pathlib.Path("reports/trends.sqlite")
PAGE = "trends.html"
"""Name of the page in the folder of the database, unless another is given."""

trends = typer.Typer(
    help="Campaigns night by night: what changed, in a database and on a page.",
    no_args_is_help=True,
)


def remember(
    campaign: pathlib.Path,
    reports: pathlib.Path,
    *,
    summary: pathlib.Path | None,
    is_shown: bool = True,
) -> None:
    """Add the campaign of a night to the database in a folder of reports; show what is worse.

    A database that cannot be used is reported and does not change the outcome of the night.
    """
    from harness import errors
    from harness.comparison.trends import databases, night_reading

    path = reports / DATABASE.name
    try:
        with databases.opened(path, is_new_allowed=True) as opened:
            opened.add(night_reading.read(campaign))
        trend, _ = write_page(path, html=None, summary=summary)
        if is_shown:
            show(trend)
    except errors.HarnessError as error:
        print(f"flake-hunt: the trend was not written: {error}", file=sys.stderr)


@trends.command()
def add(
    paths: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="REPORTS",
            help="Campaigns that have ended, or folders of reports, of which all campaigns are added.",
        ),
    ],
    database: Database = DATABASE,
) -> int:
    """Add campaigns to the database: their verdicts, rates, throughput, latency, time to detect.

    Each is one night. The same campaign again changes nothing, and is reported. The database is
    made if there is none. Campaigns of `hunt --last-failed` are left out: their runs were chosen.
    """
    from harness.comparison.trends import databases, night_reading

    campaigns = night_reading.campaigns(paths)
    nights = []
    for path in campaigns:
        if path in paths or night_reading.is_night(path):
            nights.append((path, night_reading.read(path)))
        else:
            print(f"left out   {path}: it has not ended, or has only what failed before")
    with databases.opened(database, is_new_allowed=True) as opened:
        for path, night in nights:
            added = opened.add(night)
            word = "added" if added.is_new else "replaced" if added.is_replaced else "was there"
            print(f"{word:<10} {path}: {night.started}, {night.verdict}, {len(night.runs)} runs")
    return 0


@trends.command()
def page(
    database: Database = DATABASE,
    html: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--html", metavar="FILE", help="The page (default: trends.html beside the database)."
        ),
    ] = None,
    summary: choosing.Summary = None,
    is_strict: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option("--fail-when-worse", help="Exit code 10 if the newest night is worse."),
    ] = False,
    output: outputs.Form = "text",
) -> int:
    """Write the page of all nights, and say whether the newest one is worse than those before.

    Nights are compared, not their runs; a test needs seven nights before the newest. A verdict that
    turns INVALID is worse without a test.

    Exit code 0; with --fail-when-worse 10 if it is worse.
    """
    from harness.comparison.trends import trend_documents

    with outputs.chosen(output) as out:
        trend, path = write_page(database, html=html, summary=summary)
        if out.is_json:
            out.document(trend)
        else:
            show(trend)
            print(f"  {path}")
    return trend_documents.WORSE_EXIT_CODE if is_strict and trend.is_worse else 0


def write_page(
    database: pathlib.Path, *, html: pathlib.Path | None, summary: pathlib.Path | None
) -> "tuple[trend_documents.Trend, pathlib.Path]":
    """Write the page and the summary; return the document and the path of the page."""
    from harness.cli.campaigns import campaigning
    from harness.comparison.trends import (
        changes,
        databases,
        night_series,
        trend_documents,
        trend_pages,
    )

    path = database.with_name(PAGE) if html is None else html
    with databases.opened(database) as opened:
        nights = opened.nights()
    all_series = night_series.of_nights(nights)
    examined = changes.examine(all_series, len(nights))
    trend = trend_documents.document(nights, all_series, examined)
    trend_pages.write(path, trend, nights, all_series, examined.changes)
    campaigning.summarize(summary, trend_documents.markdown(trend))
    return trend, path


def show(trend: "trend_documents.Trend") -> None:
    """Print the sentence about the newest night, and its changes."""
    from harness.report import escaping

    print(escaping.visible(trend.summary))
    for change in trend.changes:
        if trend.nights and change.found == trend.nights[-1].started:
            print(f"  {escaping.visible(change.text)}")
