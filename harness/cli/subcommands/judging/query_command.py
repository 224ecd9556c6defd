"""`flake-hunt query` and `export`: a SELECT over tables of many runs, and these as Parquet."""

import csv
import pathlib
import sys
from typing import Annotated, Literal

import typer

from harness.cli import run_paths
from harness.cli.terminal import outputs
from harness.tables import database, definitions

HELP = {
    "query": f"""Query run directories and exports with one SELECT of SQL (DuckDB); nothing is written.

Views and their columns:

{definitions.summary()}

{definitions.UNITS}.

Needs the extra `analysis`: pip install 'flake-hunt\\[analysis]'.
"""
}


Memory = Annotated[
    int,
    typer.Option(
        "--memory",
        metavar="MIB",
        min=64,
        help="Memory for tables and sorting, in MiB; the rest is in a folder for temporary files "
        "(TMPDIR), which is removed afterwards.",
    ),
]


def query(
    directory: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="RUN_DIR",
            callback=run_paths.expanded,
            help="Run directories, folders of runs such as reports/pod-churn, campaigns, or exports; "
            "patterns such as 'reports/*/*' may be quoted.",
        ),
    ],
    statement: Annotated[
        str,
        typer.Argument(
            metavar="SELECT", help="For example 'select kind, count(*) from holds group by kind'."
        ),
    ],
    output: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--output", help="Form of the rows: a table, a JSON document, or CSV."),
    ] = "text",
    memory: Memory = database.MEMORY_MIB,
) -> int:
    """Print what a SELECT finds in run directories and exports."""
    if output == "csv":
        with database.answered(directory, statement, memory_mib=memory) as answer:
            _print_csv(answer)
        return 0
    found = database.query(directory, statement, memory_mib=memory)
    with outputs.chosen("json" if output == "json" else "text") as out:
        if out.is_json:
            out.document(found)
        else:
            _print_table(found)
    return 0


def export(
    directory: run_paths.RunPaths,
    output: Annotated[
        pathlib.Path,
        typer.Option("-o", "--into", metavar="FOLDER", help="New folder of the Parquet files."),
    ],
    memory: Memory = database.MEMORY_MIB,
) -> int:
    """Write the tables of runs as Parquet files, for `flake-hunt query` and other programs.

    Holds are written as they end, so that memory does not grow with their number. Needs the extra
    `analysis`: pip install 'flake-hunt\\[analysis]'.
    """
    from importlib import metadata

    from harness.history import directories
    from harness.tables import exporting

    runs = [directories.existing(path) for path in directory]
    version = metadata.version("flake-hunt")
    written = exporting.export(runs, output, version=version, memory_mib=memory)
    shown = [["table", "rows"], *([name, f"{rows:,}"] for name, rows in written.items())]
    for line in outputs.aligned(shown):
        print(line)
    print(output.resolve())
    return 0


def _print_csv(found: database.Answer) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(found.rows)


def _print_table(found: database.QueryResult) -> None:
    from harness.report import escaping

    cells = [found.columns, *([_cell(value) for value in row] for row in found.rows)]
    shown = [[escaping.visible(cell).replace("\n", " ") for cell in row] for row in cells]
    for line in outputs.aligned(shown):
        print(line)
    print(outputs.counted(len(found.rows), "row"))


def _cell(value: object) -> str:
    return "" if value is None else str(value)
