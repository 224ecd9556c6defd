"""`flake-hunt run|check|report`: make one run, judge it again, render its report again."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness.cli import choosing, run_paths
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.checks import judging

_PANEL = "Hunting"
_RANKS = [10, 1, 2, 20, 0]
"""Exit codes from the one that counts most: INVALID, error, UNKNOWN, VALID."""
RunPaths = Annotated[
    list[pathlib.Path],
    typer.Argument(
        metavar="RUN_DIR",
        callback=run_paths.expanded,
        help="Run directories, folders of runs such as reports/pod-churn, or campaigns; patterns "
        "such as 'reports/*/*' may be quoted.",
    ),
]
RunPath = Annotated[pathlib.Path, typer.Argument(metavar="RUN_DIR", help="Folder of one run.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (run, check, report):
        app.command(rich_help_panel=_PANEL)(command)


def run(
    scenario: Annotated[
        str,
        typer.Argument(
            autocompletion=choosing.scenario_names,
            help="Scenario file, or name of a shipped scenario; its \\[\\[faults]] break something on purpose.",
        ),
    ],
    defect: choosing.Defects = None,
    remedy: choosing.Remedies = None,
    release: choosing.Release = "",
    seed: choosing.Seed = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a key of the scenario: --set traffic.users=8 (may be repeated)."
        ),
    ] = None,
    locustfile: choosing.Locustfile = "",
    workers: Annotated[
        Literal["local", "remote"] | None,
        typer.Option(
            "--workers",
            help="Where the load's processes run: here, or wherever `flake-hunt traffic-worker` is started.",
        ),
    ] = None,
    traffic_bind: Annotated[
        str | None,
        typer.Option(
            "--traffic-bind",
            metavar="HOST:PORT",
            help="With --workers remote: address to listen on (default: 127.0.0.1:5557).",
        ),
    ] = None,
    i_know_it_is_open: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--i-know-it-is-open",
            help="Accept other hosts at --traffic-bind, which has no authentication.",
        ),
    ] = False,
    until_found: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--until-found",
            help="Stop at the first double allocation, or at what else the --defect causes.",
        ),
    ] = False,
    subject: choosing.Subject = None,
    cluster: choosing.Cluster = "embedded",
    cluster_set: choosing.ClusterSet = None,
    binaries: choosing.Binaries = None,
    fault_carrier: choosing.FaultCarrier = "auto",
    kubeconfig: choosing.Kubeconfig = None,
    context: choosing.Context = None,
    i_know_this_cluster: choosing.IKnow = False,  # noqa: FBT002 - typer turns it into a flag
    metrics_port: choosing.MetricsPort = None,
    reports: choosing.Reports = pathlib.Path("reports"),
    force: choosing.Force = False,  # noqa: FBT002
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Run a scenario once on its own cluster and judge it; exit code 0, 10 or 20 by verdict."""
    import json

    from harness import seeds
    from harness.cli.terminal import annotations, displaying, indexing
    from harness.cli.watching import metrics_serving
    from harness.cluster.lifecycle import held_clusters
    from harness.run import run_plan, runs
    from harness.scenario import loading
    from harness.traffic import locustfiles

    changes = [*(override or ()), *locustfiles.override(locustfile)]
    if workers is not None:
        changes.append(f"traffic.workers={workers}")
    if traffic_bind is not None:
        changes.append(f"traffic.bind={json.dumps(traffic_bind)}")
    if i_know_it_is_open:
        changes.append("traffic.bind_is_open=true")
    loaded = loading.load(scenario, overrides=changes)
    held_clusters.prepare()
    traffic = loaded.scenario.traffic
    if not traffic.is_remote:
        _require_remote(
            {"--traffic-bind": traffic_bind is not None, "--i-know-it-is-open": i_know_it_is_open}
        )
        choosing.require_bearable("traffic.processes", traffic.processes, is_forced=force)
    chosen = seeds.fresh() if seed is None else seed
    profile = choosing.profile(
        cluster, cluster_set, binaries, kubeconfig, context, is_known=i_know_this_cluster
    )
    plan = run_plan.plan(
        loaded,
        seed=chosen,
        defects=defect or (),
        remedies=remedy or (),
        release=release,
        cluster=profile,
        until_found=until_found,
        chosen_subjects=subject or (),
        binaries=choosing.folder(binaries),
        fault_carrier=fault_carrier,
    )
    with outputs.chosen(output, quiet=quiet, verbose=verbose) as out:
        out.note(f"seed {chosen}")
        metrics = metrics_serving.RunMetrics()
        with metrics_serving.serving(metrics_port, metrics, out):
            directory = runs.new_directory(plan, reports)
            metrics.follow(directory.path)
            with (
                indexing.refreshed(reports),
                displaying.keeping_evidence(directory.path),
                displaying.run_progress(out) as progress,
            ):
                passed_on = metrics.passing_on(progress)
                judgement = runs.run(loaded, plan, directory, progress=passed_on)
        displaying.show(judgement, directory, out=out)
        annotations.of_judgement(judgement)
    return judgement.exit_code


def _require_remote(given: Mapping[str, bool]) -> None:
    """Reject options of remote workers, which local ones would ignore."""
    from harness import errors

    for option, is_given in given.items():
        if is_given:
            raise errors.UsageError(
                f"expected {option} with --workers remote, got it with local workers: add --workers "
                f"remote, or leave {option} out"
            )


def check(
    directory: RunPaths,
    witness: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            "--witness",
            help="Part of an audit log of the API server to compare with the observations (may be repeated); the verdict is then only shown.",
        ),
    ] = None,
    second_judge: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--second-judge",
            help="Count the double allocations in SQL, too; a difference is UNKNOWN, and the verdict is only shown. Needs the extra analysis.",
        ),
    ] = False,
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
    verbose: outputs.Verbose = False,  # noqa: FBT002
) -> int:
    """Judge run directories again, from their content alone, and write their reports again.

    Several give a line each; the exit code is 10 if one is INVALID, else that of a folder that is
    no run directory, else 20 if one is UNKNOWN.
    """
    from harness.cli import second_judging
    from harness.cli.terminal import displaying, indexing

    brought = _Judging(witness or (), is_twice=second_judge)
    brought.require()
    with (
        outputs.chosen(output, quiet=quiet, verbose=verbose) as out,
        indexing.refreshed_where_it_is(directory),
    ):
        if len(directory) > 1:
            return _check_all(directory, brought, out)
        examination, unwritten = _check(directory[0], brought)
        judgement, existing = examination.judgement, examination.history.directory
        if second_judge:
            out.note(second_judging.said(judgement))
        displaying.show(judgement, existing, out=out, unwritten=unwritten)
    return judgement.exit_code


@dataclasses.dataclass(frozen=True, slots=True)
class _Judging:
    """The options of `check` that do more than judge a run by its own content."""

    witness: Sequence[pathlib.Path]
    is_twice: bool

    def require(self) -> None:
        """Raise UsageError for a witness that is no file, and without DuckDB if it is needed."""
        _require_files(self.witness)
        if self.is_twice:
            from harness.tables import database

            database.require_duckdb()


def _check(path: pathlib.Path, asked: _Judging) -> "tuple[judging.Examination, str]":
    """Judge a run directory; return why its verdict and pages were not written, if so."""
    from harness import errors
    from harness.checks import judging
    from harness.cli import second_judging
    from harness.history import directories
    from harness.report import publishing

    examination = judging.examine(directories.existing(path), witness=asked.witness)
    if asked.is_twice:
        examination = second_judging.judged_twice(examination)
    try:
        if not (asked.witness or asked.is_twice):
            publishing.publish(examination)
    except (errors.StorageError, errors.UnwritableError) as error:
        return examination, str(error)
    return examination, ""


def _check_all(paths: Sequence[pathlib.Path], asked: _Judging, out: outputs.Output) -> int:
    """Judge several run directories, with a line for each; return the worst exit code."""
    from harness import errors
    from harness.cli import second_judging
    from harness.cli.terminal import displaying

    documents: list[dict[str, Any]] = []
    codes: list[int] = []
    for path in paths:
        try:
            examination, unwritten = _check(path, asked)
        except errors.HarnessError as error:
            codes.append(type(error).exit_code)
            documents.append({"directory": str(path), "error": str(error)})
            displaying.show_error(path, error, out=out)
        else:
            judgement, existing = examination.judgement, examination.history.directory
            codes.append(judgement.exit_code)
            documents.append(displaying.document(judgement, existing))
            displaying.show_line(judgement, path, out=out, unwritten=unwritten)
            if asked.is_twice:
                out.note(f"         {second_judging.said(judgement)}")
    code = min(codes, key=_RANKS.index)
    if out.is_json:
        out.document({"schema": 1, "exit_code": code, "runs": documents})
    return code


def _require_files(paths: Sequence[pathlib.Path]) -> None:
    """Raise UsageError for a path that is no file."""
    from harness import errors

    for path in paths:
        if not path.is_file():
            raise errors.UsageError(
                f"expected a file for --witness, got {path}: name the parts of the audit log"
            )


def report(
    directory: RunPaths,
    issue: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--issue",
            help="Print a text about an INVALID run to paste into an issue, in Markdown; write nothing.",
        ),
    ] = False,
) -> int:
    """Render the reports of run directories again; judge first those that have no verdict yet.

    Of several, those that are no run directories are named, and the others are rendered.
    """
    from harness import errors
    from harness.cli.terminal import displaying, indexing

    if len(directory) == 1:
        with indexing.refreshed_where_it_is([] if issue else directory):
            _report(directory[0], is_issue=issue)
        return 0
    if issue:
        raise errors.UsageError(
            f"expected one run directory with --issue, got {len(directory)}: name one of them"
        )
    code = 0
    with outputs.chosen() as out, indexing.refreshed_where_it_is(directory):
        for path in directory:
            try:
                _report(path, is_issue=False)
            except errors.HarnessError as error:
                code = min(code or 0, type(error).exit_code, key=_RANKS.index)
                displaying.show_error(path, error, out=out)
    return code


def _report(path: pathlib.Path, *, is_issue: bool) -> None:
    """Write the report of a run directory and print its path, or print the text for an issue."""
    import os

    from harness.checks import judging, verdict_files
    from harness.history import directories
    from harness.report import publishing

    existing = directories.existing(path)
    examination = judging.examine(existing)
    if is_issue:
        from harness.reproduction.issue import run_issues

        print(run_issues.text(examination), end="")
        return
    if os.path.lexists(existing.verdict):
        verdict_files.require_own(existing, examination.judgement)
    publishing.publish(examination)
    print(existing.report)
