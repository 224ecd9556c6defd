"""`flake-hunt compare|query`: runs and campaigns against each other, and a SELECT over many."""

import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness import errors, writing
from harness.cli import choosing, options, run_paths
from harness.cli.terminal import outputs
from harness.comparison.documents import Answer
from harness.report import escaping
from harness.tables import definitions

if TYPE_CHECKING:
    from harness.comparison import documents


ROWS_MAX = 20
"""Rows of one table, unless all are asked for; those that differ come first."""


@choosing.with_groups
def compare(
    *,
    paths: list[pathlib.Path] = options.argument(
        "Two: folders of runs, campaigns, or of a scenario's runs. The first is A.",
        "RUNS",
    ),
    form: outputs.OutputOptions,
    comment: pathlib.Path | None = options.of(
        "Also write a short text in Markdown for a pull request, with the first as its base.",
        metavar="FILE",
    ),
    link: str = options.of("With --comment: where the reports are.", metavar="URL", default=""),
    is_fix: bool = options.flag(
        "Ask whether B is a fix of A: exit code 0 if it works, 10 if B is worse, 20 if neither is shown.",
        "--fix",
    ),
) -> int:
    """Compare two runs or campaigns: settings that differ, and violations.

    Make a campaign of each scheduler, version or setting first: hunt --repeat 100

        flake-hunt compare reports/campaigns/BEFORE reports/campaigns/AFTER

    Scenarios are compared one by one, and only under the same load; the others are listed.

    Runs are not judged again, and UNKNOWN runs are neither VALID nor INVALID. A run counts once,
    however many copies there are. Controls, hazards and remedies are not compared with the subject.

    Exit code 0: no difference in the rates of INVALID runs was found, and in each scenario a
    difference of 50 percentage points or more is excluded with 95 % confidence.

    10: they differ by more than chance.

    20: there are too few runs to decide, some cannot be read, or none can be compared.
    """
    from harness.comparison import comparing, comparison_texts, sides

    if link and not comment:
        raise errors.UsageError(f"expected --comment FILE with --link {link:.80}")
    if link and not link.startswith(("https://", "http://")):
        raise errors.UsageError(f"expected --link with https:// or http://, got {link!r:.80}")
    with form.chosen() as out:
        labels = comparison_texts.LABELS if comment else sides.LABELS
        comparison = comparing.compare(paths, labels=labels)
        if comment is not None:
            writing.replace(comment, comparison_texts.markdown(comparison, link=link).encode())
        if out.is_json:
            out.document(comparison)
        else:
            for line in _lines(comparison, out, is_fix=is_fix):
                print(escaping.visible(line.replace("\n", " ")))
            if comment is not None:
                out.note(f"  {comment}")
    return comparison.answer.fix_exit_code if is_fix else comparison.exit_code


def _lines(
    comparison: "documents.Comparison", out: outputs.Output, *, is_fix: bool
) -> Iterator[str]:
    from harness.comparison import comparison_texts

    for table in () if out.is_quiet else comparison_texts.tables(comparison):
        yield table.title
        left = 0 if out.is_verbose else max(len(table.rows) - ROWS_MAX, 0)
        rows = table.rows[: len(table.rows) - left]
        yield from (f"  {line}" for line in outputs.aligned([table.head, *rows]) if rows)
        more = [f"… and {left} more: --verbose or --output json"] if left else []
        empty = [] if rows else [table.empty]
        yield from (f"  {note}" for note in (*empty, *more, *table.notes))
        yield ""
    answers = {Answer.BETTER: "the fix works", Answer.WORSE: "no fix"}
    first, second = (side.label for side in comparison.sides)
    fix = answers.get(comparison.answer, f"not shown that {second} fixes {first}")
    yield f"{fix}: {comparison.summary}" if is_fix else comparison.summary


HELP = {
    "query": f"""Query run directories with one SELECT of SQL (DuckDB).

Tables and their columns:

{definitions.summary()}

{definitions.UNITS}.

Needs the extra `analysis`: pip install '.\\[analysis]'.
"""
}


def query(
    directory: list[pathlib.Path] = run_paths.RUNS,
    statement: str = options.argument(
        "For example 'select kind, count(*) from holds group by kind'.", "SELECT"
    ),
    output: str = options.of(
        "A table, a JSON document, or a file that is written: FILE.parquet or FILE.csv.",
        metavar="text|json|FILE",
        default="text",
    ),
    memory: int = options.of(
        "Memory for tables and sorting, in MiB; the rest is in a folder for temporary "
        "files (TMPDIR), which is removed afterwards.",
        metavar="MIB",
        min=64,
        default=definitions.MEMORY_MIB,
    ),
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
        rows = (["" if value is None else str(value) for value in row] for row in found.rows)
        shown = [
            [escaping.visible(cell).replace("\n", " ") for cell in row]
            for row in [found.columns, *rows]
        ]
        for line in outputs.aligned(shown):
            print(line)
        print(outputs.counted(len(found.rows), "row"))
    return 0
