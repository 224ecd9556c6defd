"""`flake-hunt query`: a SELECT over the claims, holds, pods, calls and steps of many runs."""

import csv
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli.runs import run_commands
from harness.cli.terminal import outputs
from harness.querying import views

if TYPE_CHECKING:
    from harness.querying import database

_COLUMNS = "\n\n".join(f"{view}: {columns}" for view, columns in views.COLUMNS.items())
_HELP = f"""Query run directories with one SELECT of SQL (DuckDB); nothing is written.

Views and their columns:

{_COLUMNS}

{views.UNITS}.

Needs the extra `analysis`: pip install 'flake-hunt\\[analysis]'.
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(help=_HELP, rich_help_panel="Hunting")(query)


def query(
    directory: run_commands.RunPaths,
    statement: Annotated[
        str,
        typer.Argument(
            metavar="SELECT", help="For example 'select kind, count(*) from holds group by kind'."
        ),
    ],
    output: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--output", "-o", help="Form of the rows: a table, a JSON document, or CSV."),
    ] = "text",
) -> int:
    """Print what a SELECT finds in run directories."""
    from harness.history import directories
    from harness.querying import database

    found = database.query([directories.existing(path) for path in directory], statement)
    if output == "csv":
        _print_csv(found)
        return 0
    with outputs.chosen("json" if output == "json" else "text") as out:
        if out.is_json:
            out.document(found)
        else:
            _print_table(found)
    return 0


def _print_csv(found: "database.QueryResult") -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(found.rows)


def _print_table(found: "database.QueryResult") -> None:
    from harness.report import escaping

    cells = [found.columns, *([_cell(value) for value in row] for row in found.rows)]
    shown = [[escaping.visible(cell).replace("\n", " ") for cell in row] for row in cells]
    for line in outputs.aligned(shown):
        print(line)
    print(outputs.counted(len(found.rows), "row"))


def _cell(value: object) -> str:
    return "" if value is None else str(value)
