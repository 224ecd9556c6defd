"""`flake-hunt explain`: the double allocations in logs of schedulers, and the races behind them."""

import pathlib
from typing import TYPE_CHECKING

import msgspec

from harness.cli import options, run_paths
from harness.cli.terminal import outputs
from harness.report import escaping

if TYPE_CHECKING:
    from harness.cli.terminal import displaying
    from harness.report.explanations import documents

EPILOG = """Examples:

kubectl logs -n kube-system kube-scheduler-a | flake-hunt explain -

flake-hunt explain 'kube-scheduler.log*' > why.txt

flake-hunt run pod-churn --defect gather-not-atomic --set subject.verbosity=6; flake-hunt explain reports/latest
"""


def explain(
    logs: list[str] = options.argument(
        "Logs of kube-scheduler or of our scheduler, or parts of one: text or JSON, plain, gzip, xz or zstd; - is standard input. Or run directories, or campaigns. Patterns may be quoted.",
        "LOG",
    ),
    is_full: bool = options.flag("Show the lines of each double allocation.", "--all"),
    output: outputs.Form = outputs.FORM,
) -> int:
    """Find double allocations in logs of schedulers, and name the race behind each of them.

        kubectl logs -n kube-system kube-scheduler-node-1 | flake-hunt explain -

    It needs no run. Let the scheduler log with -v=6, where it logs which devices it sees in use.
    Parts of a log may come in any order; shares of a device are not judged. Several run
    directories give a line each.

    Exit code 10 if a device had two claims at a time, 0 if allocations were seen and none was
    double, 20 if the logs do not show it.
    """
    from harness.log_analysis import log_files
    from harness.report.explanations import texts

    given = run_paths.chosen(logs)
    with outputs.chosen(output) as out:
        if isinstance(given, list) and len(given) > 1:
            from harness.cli.terminal import displaying

            return displaying.show_each(given, _line, out=out)
        if isinstance(given, list):
            given = run_paths.Logs(log_files.required(given[0]), given[0])
        explanation = _explanation(given)
        if out.is_json:
            out.document(explanation)
            return explanation.exit_code
        for line in texts.lines(explanation, are_all=is_full):
            print(escaping.visible(line))
    return explanation.exit_code


def _explanation(logs: run_paths.Logs) -> "documents.Explanation":
    from harness.log_analysis import analyses
    from harness.report.explanations import documents

    return documents.document(analyses.analyse(logs.names, folder=logs.run))


def _line(run: pathlib.Path) -> "displaying.Line":
    from harness.cli.terminal import displaying
    from harness.log_analysis import log_files

    found = _explanation(run_paths.Logs(log_files.required(run), run))
    races = dict.fromkeys(double.signature for double in found.double_allocations)
    about = found.summary + (f" ({', '.join(races)})" if races else "")
    document = {"directory": str(run), **msgspec.to_builtins(found)}
    return displaying.Line(found.verdict, str(run), about, found.exit_code, document)
