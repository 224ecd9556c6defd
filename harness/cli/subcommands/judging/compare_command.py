"""`flake-hunt compare`: runs and campaigns against each other."""

import pathlib
import string
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import run_paths
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.comparison import comparison_texts, documents


def compare(
    paths: Annotated[
        list[pathlib.Path],
        typer.Argument(
            metavar="RUNS",
            callback=run_paths.compared,
            help="Two or more: folders of runs, campaigns, or of a scenario's runs, or packs. The first is A.",
        ),
    ],
    html: Annotated[
        pathlib.Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page with tables and charts."),
    ] = None,
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
    same_machine: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--same-machine",
            help="Compare throughput and latency although the machine was restarted in between.",
        ),
    ] = False,
    is_fix: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--fix",
            help="Ask whether B is a fix of A: exit code 0 if it works, 10 if B is worse, 20 if neither is shown.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random resamples.")] = 1,
    output: outputs.Form = "text",
    quiet: Annotated[  # noqa: FBT002
        bool, typer.Option("--quiet", "-q", help="Print only the answer.")
    ] = False,
    verbose: Annotated[  # noqa: FBT002
        bool, typer.Option("--verbose", "-v", help="Print all rows of all tables.")
    ] = False,
) -> int:
    """Compare runs or campaigns: settings that differ, violations, throughput, latency.

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
    from harness import errors, writing
    from harness.comparison import comments, comparing, comparison_pages

    _require_comment(link, comment)
    if (is_fix or comment) and len(paths) != 2:
        option = "--fix" if is_fix else "--comment"
        raise errors.UsageError(
            f"expected two runs or campaigns with {option}, before and after it, got {len(paths)}"
        )
    form = output
    with outputs.chosen(form, quiet=quiet, verbose=verbose) as out:
        labels = comments.LABELS if comment else string.ascii_uppercase
        comparison = comparing.compare(paths, seed=seed, same_machine=same_machine, labels=labels)
        if comment is not None:
            writing.replace(comment, comments.markdown(comparison, link=link).encode())
        if html is not None:
            comparison_pages.write(html, comparison)
        if out.is_json:
            out.document(comparison)
        else:
            _print(comparison, out)
            _print_fix(comparison, is_asked=is_fix)
            for file in filter(None, (html, comment)):
                out.note(f"  {file}")
    return _fix_exit_code(comparison) if is_fix else comparison.exit_code


def _require_comment(link: str, comment: pathlib.Path | None) -> None:
    """Raise UsageError for a link without a comment, or for one that is no address."""
    from harness import errors

    if link and not comment:
        raise errors.UsageError(f"expected --comment FILE with --link {link:.80}")
    if link and not link.startswith(("https://", "http://")):
        raise errors.UsageError(f"expected --link with https:// or http://, got {link!r:.80}")


def _fix_exit_code(comparison: "documents.Comparison") -> int:
    """Return the exit code of `--fix`; 20 if nothing can be compared."""
    from harness.comparison.documents import FixAnswer

    answers = [fix.answer for fix in comparison.fixes]
    return answers[0].exit_code if answers else FixAnswer.NOT_SHOWN.exit_code


def _print(comparison: "documents.Comparison", out: outputs.Output) -> None:
    from harness.comparison import comparison_texts

    if not out.is_quiet:
        for table in comparison_texts.tables(comparison):
            shown = table if out.is_verbose else comparison_texts.shortened(table)
            _print_table(shown)
    _print_line(comparison.summary)


def _print_fix(comparison: "documents.Comparison", *, is_asked: bool) -> None:
    """Print whether the second side is a fix, if that was asked or if it is one."""
    from harness.comparison.documents import FixAnswer

    for fix in comparison.fixes:
        if is_asked or fix.answer is FixAnswer.WORKS:
            _print_line(fix.text)


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
