"""`flake-hunt explain`: the double allocations in logs of schedulers, and the races behind them."""

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.cli import run_paths
    from harness.report.explanations import documents

EPILOG = """Examples:

kubectl logs -n kube-system kube-scheduler-a | flake-hunt explain -

flake-hunt explain 'kube-scheduler.log*' --html why.html

flake-hunt run pod-churn --defect gather-not-atomic --set subject.verbosity=6; flake-hunt explain reports/latest
"""
_RANKS = (10, 1, 2, 20, 0)
"""Exit codes of several run directories, the one that counts first."""


def explain(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help="Logs of kube-scheduler or of our scheduler, or parts of one: text or JSON, plain, gzip, xz or zstd; - is standard input. Or run directories, or campaigns. Patterns may be quoted.",
        ),
    ],
    html: Annotated[
        pathlib.Path | None,
        typer.Option("--html", help="Also write it to this file as an HTML page."),
    ] = None,
    is_full: Annotated[  # noqa: FBT002
        bool, typer.Option("--all", help="Show the lines of each double allocation.")
    ] = False,
    output: outputs.Form = "text",
) -> int:
    """Find double allocations in logs of schedulers, and name the race behind each of them.

        kubectl logs -n kube-system kube-scheduler-node-1 | flake-hunt explain -

    It needs no run. Let the scheduler log with -v=6, where it logs which devices it sees in use.
    Parts of a log may come in any order; shares of a device are not judged. It also counts write
    conflicts and lost answers. Several run directories give a line each.

    Exit code 10 if a device had two claims at a time, 0 if allocations were seen and none was
    double, 20 if the logs do not show it.
    """
    from harness import errors
    from harness.cli import run_paths

    given = run_paths.chosen(logs)
    with outputs.chosen(output) as out:
        if isinstance(given, list) and len(given) > 1:
            if html is not None:
                raise errors.UsageError(
                    f"expected one run directory with --html, got {len(given)}: explain each alone"
                )
            return _explain_all(given, out)
        explanation = _explanation(given if not isinstance(given, list) else _of_run(given[0]))
        _write(explanation, html)
        if out.is_json:
            out.document(explanation)
        else:
            _print(explanation, html, is_full=is_full)
    return explanation.exit_code


def _of_run(run: pathlib.Path) -> "run_paths.Logs":
    from harness.cli import run_paths
    from harness.log_analysis import log_files

    return run_paths.Logs(log_files.required(run), run)


def _explanation(logs: "run_paths.Logs") -> "documents.Explanation":
    from harness.log_analysis import analyses
    from harness.report.explanations import documents

    return documents.document(analyses.analyse(logs.names, folder=logs.run))


def _explain_all(runs: Sequence[pathlib.Path], out: outputs.Output) -> int:
    """Explain several runs, with a line for each; return the worst exit code."""
    import msgspec

    from harness import errors
    from harness.report import escaping

    entries: list[dict[str, Any]] = []
    codes: list[int] = []
    for run in runs:
        try:
            explanation = _explanation(_of_run(run))
        except errors.HarnessError as error:
            entries.append({"directory": str(run), "error": str(error)})
            line, code = f"ERROR {run}: {error}", type(error).exit_code
        else:
            entries.append({"directory": str(run), **msgspec.to_builtins(explanation)})
            line, code = f"{explanation.verdict} {run}", explanation.exit_code
            line += f": {_in_short(explanation)}"
        codes.append(code)
        if not out.is_json:
            print(escaping.visible(line))
    code = min(codes, key=_RANKS.index)
    if out.is_json:
        out.document({"schema": 1, "exit_code": code, "runs": entries})
    return code


def _in_short(explanation: "documents.Explanation") -> str:
    """Return the summary with the races that were named."""
    races = dict.fromkeys(found.signature for found in explanation.double_allocations)
    return f"{explanation.summary} ({', '.join(races)})" if races else explanation.summary


def _write(explanation: "documents.Explanation", html: pathlib.Path | None) -> None:
    from harness import writing
    from harness.report.explanations import texts

    if html is not None:
        writing.replace(html, texts.page(explanation).encode())


def _print(
    explanation: "documents.Explanation",
    html: pathlib.Path | None,
    *,
    is_full: bool,
) -> None:
    from harness.report import escaping
    from harness.report.explanations import texts

    for line in texts.lines(explanation, are_all=is_full):
        print(escaping.visible(line))
    if html is not None:
        print(f"\nWritten: {escaping.visible(str(html))}")
