"""`flake-hunt explain`: the double allocations in logs of schedulers, and the races behind them."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.report.explanations import documents

_EPILOG = (
    "Example: kubectl logs -n kube-system kube-scheduler-a | flake-hunt explain -  shows the double "
    "allocations of a cluster whose kube-scheduler runs with -v=6."
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Hunting", epilog=_EPILOG)(explain)


def explain(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Logs of kube-scheduler or of our scheduler, or parts of one: text or JSON, plain, gzip, xz or zstd; - is standard input.",
        ),
    ],
    as_json: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--json", help="The same as --output json.")
    ] = False,
    html: Annotated[
        pathlib.Path | None,
        typer.Option("--html", help="Also write it to this file as an HTML page."),
    ] = None,
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
) -> int:
    """Find double allocations in logs of schedulers, and name the race behind each of them.

    It needs no run. Let the scheduler log with -v=6, where it tells which devices it sees in use.
    Parts of a log may come in any order and may overlap; shares of a device are not judged.

    Exit code 10 if a device had two claims at a time, 0 if allocations were seen and none was
    double, 20 if the logs do not tell.
    """
    from harness import writing
    from harness.log_analysis import analyses
    from harness.report.explanations import documents, pages

    with outputs.chosen("json" if as_json else output, quiet=quiet) as out:
        explanation = documents.document(analyses.analyse(logs))
        if html is not None:
            writing.replace(html, pages.page(explanation).encode())
        if out.is_json:
            out.document(explanation)
        else:
            _print(explanation, html, is_quiet=quiet)
    return explanation.exit_code


def _print(
    explanation: "documents.Explanation", html: pathlib.Path | None, *, is_quiet: bool
) -> None:
    from harness.report import escaping
    from harness.report.explanations import texts

    for line in texts.lines(explanation):
        print(escaping.visible(line))
        if is_quiet:
            return
    if html is not None:
        print(f"\nWritten: {escaping.visible(str(html))}")
