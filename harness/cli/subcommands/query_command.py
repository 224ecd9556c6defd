"""`flake-hunt query`: a SELECT over the tables of many runs."""

import pathlib
from typing import Annotated

from harness import errors
from harness.cli import options, run_paths
from harness.cli.terminal import outputs
from harness.report import escaping
from harness.tables import definitions

HELP = {
    "query": f"""Query run directories with one SELECT of SQL (DuckDB).

Tables and their columns:

{definitions.summary()}

{definitions.UNITS}.

Needs the extra `analysis`: pip install '.\\[analysis]'.
"""
}


def query(
    directory: run_paths.RunPaths,
    statement: Annotated[
        str,
        options.argument("For example 'select kind, count(*) from holds group by kind'.", "SELECT"),
    ],
    output: Annotated[
        str,
        options.of(
            "A table, a JSON document, or a file that is written: FILE.parquet or FILE.csv.",
            metavar="text|json|FILE",
        ),
    ] = "text",
    memory: Annotated[
        int,
        options.of(
            "Memory for tables and sorting, in MiB; the rest is in a folder for temporary "
            "files (TMPDIR), which is removed afterwards.",
            metavar="MIB",
            min=64,
        ),
    ] = definitions.MEMORY_MIB,
) -> int:
    """Print or write what a SELECT finds in run directories."""
    from harness.tables import database

    if output not in ("text", "json"):
        file = pathlib.Path(output)
        if file.suffix not in (".parquet", ".csv"):
            raise errors.UsageError(
                f"expected --output text, json, FILE.parquet or FILE.csv, got {output!r:.80}"
            )
        database.write(file, directory, statement, memory_mib=memory)
        return 0
    found = database.query(directory, statement, memory_mib=memory)
    with outputs.chosen(output) as out:
        if out.is_json:
            out.document(found)
            return 0
        cells = [found.columns, *([_cell(value) for value in row] for row in found.rows)]
        shown = [[escaping.visible(cell).replace("\n", " ") for cell in row] for row in cells]
        for line in outputs.aligned(shown):
            print(line)
        print(outputs.counted(len(found.rows), "row"))
    return 0


def _cell(value: object) -> str:
    return "" if value is None else str(value)
