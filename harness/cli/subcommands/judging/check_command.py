"""`flake-hunt check|report`: judge a run again, and render its report again."""

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import choosing, run_paths
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.checks import judging, verdict_files

_RANKS = [10, 1, 2, 20, 0]
"""Exit codes from the one that counts most: INVALID, error, UNKNOWN, VALID."""


@choosing.with_groups
def check(
    directory: run_paths.RunPaths,
    form: outputs.OutputOptions,
    witness: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            "--witness",
            help="Part of an audit log of the API server to compare with the observations (may be repeated); the verdict is then only shown.",
        ),
    ] = None,
) -> int:
    """Judge run directories again, from their content alone, and write their reports again.

    A pack is judged as it is, and nothing is written; if a byte of it was changed, the exit code
    is 20.

    Several give a line each; the exit code is 10 if one is INVALID, else that of a folder that is
    no run directory, else 20 if one is UNKNOWN.
    """
    from harness.cli.terminal import displaying, indexing

    audited = witness or []
    _require_files(audited)
    with (
        form.chosen() as out,
        indexing.refreshed_where_it_is(directory),
    ):
        if len(directory) > 1:
            return _check_all(directory, audited, out)
        examination, unwritten = _check(directory[0], audited)
        judgement, existing = examination.judgement, examination.history.directory
        where = _in_pack(directory[0])
        displaying.show(judgement, existing, out=out, unwritten=unwritten, pack=where)
        _note_other_verdict(directory[0], judgement)
    return judgement.exit_code


def _check(
    path: pathlib.Path, witness: Sequence[pathlib.Path]
) -> "tuple[judging.Examination, str]":
    """Judge a run directory; return why its verdict and pages were not written, if so."""
    from harness import errors
    from harness.checks import judging
    from harness.history import directories
    from harness.report import publishing

    examination = judging.examine(directories.existing(_run(path)), witness=witness)
    if run_paths.pack_of(path):
        return examination, ""
    try:
        if not witness:
            publishing.publish(examination)
    except (errors.StorageError, errors.UnwritableError) as error:
        return examination, str(error)
    return examination, ""


def _in_pack(path: pathlib.Path) -> str:
    """Return the place of a run in a pack; empty for any other run."""
    return run_paths.named(path) if run_paths.pack_of(path) else ""


def _note_other_verdict(path: pathlib.Path, judgement: "verdict_files.Judgement") -> None:
    """Say on stderr if a run of a pack was judged otherwise when it was packed."""
    import sys

    if pack := run_paths.pack_of(path):
        was = run_paths.packed_verdict(path)
        if was != str(judgement.verdict):
            print(f"flake-hunt: {pack} says {was}, by another version", file=sys.stderr)


def _run(path: pathlib.Path) -> pathlib.Path:
    """Return a run directory; raise PackError or UsageError for a pack that is one of several."""
    return run_paths.only(path) if run_paths.is_pack(path) else path


def _check_all(
    paths: Sequence[pathlib.Path], witness: Sequence[pathlib.Path], out: outputs.Output
) -> int:
    """Judge several run directories, with a line for each; return the worst exit code."""
    from harness import errors
    from harness.cli.terminal import displaying

    documents: list[dict[str, Any]] = []
    codes: list[int] = []
    for path in paths:
        try:
            examination, unwritten = _check(path, witness)
        except errors.HarnessError as error:
            codes.append(type(error).exit_code)
            documents.append({"directory": str(path), "error": str(error)})
            displaying.show_error(path, error, out=out)
        else:
            judgement, existing = examination.judgement, examination.history.directory
            codes.append(judgement.exit_code)
            where = _in_pack(path)
            documents.append(displaying.document(judgement, existing, where))
            displaying.show_line(judgement, where or path, out=out, unwritten=unwritten)
            _note_other_verdict(path, judgement)
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
    directory: run_paths.RunPaths,
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

    for path in directory:
        if run_paths.pack_of(path) and not issue:
            raise errors.UsageError(
                f"expected a run directory, got {run_paths.named(path)}, which has its report: unpack it"
            )
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
