"""`flake-hunt compare`: runs and campaigns against each other."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing, run_paths
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.comparison import comparison_texts, documents


@choosing.with_groups
def compare(
    paths: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="RUNS",
            callback=run_paths.compared,
            help="Two: folders of runs, campaigns, or of a scenario's runs, or packs. The first is A.",
        ),
    ],
    form: outputs.OutputOptions,
    comment: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--comment",
            metavar="FILE",
            help="Also write a short text in Markdown for a pull request, with the first as its base.",
        ),
    ] = None,
    link: Annotated[
        str, typer.Option("--link", metavar="URL", help="With --comment: where the reports are.")
    ] = "",
    is_fix: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--fix",
            help="Ask whether B is a fix of A: exit code 0 if it works, 10 if B is worse, 20 if neither is shown.",
        ),
    ] = False,
) -> int:
    """Compare two runs or campaigns: settings that differ, violations, throughput.

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
    from harness import writing
    from harness.comparison import comments, comparing, sides

    _require_comment(link, comment)
    with form.chosen() as out:
        labels = comments.LABELS if comment else sides.LABELS
        comparison = comparing.compare(paths, labels=labels)
        if comment is not None:
            writing.replace(comment, comments.markdown(comparison, link=link).encode())
        if out.is_json:
            out.document(comparison)
        else:
            _print(comparison, out)
            _print_line(_said(comparison, is_fix=is_fix))
            if comment is not None:
                out.note(f"  {comment}")
    return comparison.answer.fix_exit_code if is_fix else comparison.exit_code


def _require_comment(link: str, comment: pathlib.Path | None) -> None:
    """Raise UsageError for a link without a comment, or for one that is no address."""
    from harness import errors

    if link and not comment:
        raise errors.UsageError(f"expected --comment FILE with --link {link:.80}")
    if link and not link.startswith(("https://", "http://")):
        raise errors.UsageError(f"expected --link with https:// or http://, got {link!r:.80}")


def _said(comparison: "documents.Comparison", *, is_fix: bool) -> str:
    from harness.comparison.documents import Answer

    if not is_fix:
        return comparison.summary
    first, second = (side.label for side in comparison.sides)
    answers = {Answer.BETTER: "the fix works", Answer.WORSE: "no fix"}
    answer = answers.get(comparison.answer, f"not shown that {second} fixes {first}")
    return f"{answer}: {comparison.summary}"


def _print(comparison: "documents.Comparison", out: outputs.Output) -> None:
    from harness.comparison import comparison_texts

    if not out.is_quiet:
        for table in comparison_texts.tables(comparison):
            _print_table(table if out.is_verbose else comparison_texts.shortened(table))


def _print_table(table: "comparison_texts.Table") -> None:
    _print_line(table.title)
    if table.rows:
        for line in outputs.aligned([table.head, *table.rows]):
            _print_line(f"  {line}")
    else:
        _print_line(f"  {table.empty}")
    for note in table.notes:
        _print_line(f"  {note}")
    _print_line("")


def _print_line(text: str) -> None:
    """Print a line; names in it come from files and are not obeyed."""
    from harness.report import escaping

    print(escaping.visible(text.replace("\n", " ")))
