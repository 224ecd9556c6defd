"""`flake-hunt check|report`: judge a run again, and render its report again."""

import functools
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness import errors
from harness.cli import choosing, options, run_paths
from harness.cli.terminal import indexing, outputs
from harness.history import directories

if TYPE_CHECKING:
    from harness.checks import judging
    from harness.cli.terminal import displaying


@choosing.with_groups
def check(
    *,
    directory: list[pathlib.Path] = run_paths.RUNS,
    form: outputs.OutputOptions,
    witness: list[pathlib.Path] | None = options.of(
        "Part of an audit log of the API server to compare with the observations (may be repeated); the verdict is then only shown."
    ),
) -> int:
    """Judge run directories again, from their content alone, and write their reports again.

    A pack is judged as it is, and nothing is written; if it is damaged, the exit code is 20.

    Several give a line each; the exit code is 10 if one is INVALID, else that of a folder that is
    no run directory, else 20 if one is UNKNOWN.
    """
    from harness.cli.terminal import displaying

    for path in witness or ():
        if not path.is_file():
            raise errors.UsageError(
                f"expected a file for --witness, got {path}: name the parts of the audit log"
            )
    with form.chosen() as out, indexing.refreshed_where_it_is(directory):
        if len(directory) > 1:
            look = functools.partial(_line, witness=witness or ())
            return displaying.show_each(directory, look, out=out)
        examination, unwritten = _check(directory[0], witness or ())
        judgement, existing = examination.judgement, examination.history.directory
        where = run_paths.place_in_pack(directory[0])
        displaying.show(judgement, existing, out=out, unwritten=unwritten, pack=where)
    return judgement.exit_code


def _line(path: pathlib.Path, witness: Sequence[pathlib.Path]) -> "displaying.Line":
    from harness.cli.terminal import displaying

    examination, unwritten = _check(path, witness)
    judgement, where = examination.judgement, run_paths.place_in_pack(path)
    about = judgement.reason
    if unwritten:
        about += f" (this verdict and its report are not written: {unwritten})"
    document = displaying.document(judgement, examination.history.directory, where)
    code = judgement.exit_code
    return displaying.Line(str(judgement.verdict), where or str(path), about, code, document)


def _check(
    path: pathlib.Path, witness: Sequence[pathlib.Path]
) -> "tuple[judging.Examination, str]":
    from harness.checks import judging
    from harness.report import publishing

    examination = judging.examine(directories.existing(run_paths.only(path)), witness=witness)
    if pack := run_paths.pack_of(path):
        was = run_paths.packed_verdict(path, pack)
        if was != str(examination.judgement.verdict):
            print(f"flake-hunt: {pack.pack} says {was}, by another version", file=sys.stderr)
        return examination, ""
    try:
        if not witness:
            publishing.publish(examination)
    except (errors.StorageError, errors.UnwritableError) as error:
        return examination, str(error)
    return examination, ""


def report(
    directory: list[pathlib.Path] = run_paths.RUNS,
    issue: bool = options.flag(
        "Print a text about an INVALID run to paste into an issue, in Markdown; write nothing.",
        "--issue",
    ),
) -> int:
    """Render the reports of run directories again; judge first those that have no verdict yet.

    Of several, those that are no run directories are named, and the others are rendered.
    """
    from harness.cli.terminal import displaying

    for path in directory:
        if not issue and (where := run_paths.place_in_pack(path)):
            raise errors.UsageError(
                f"expected a run directory, got {where}, which has its report: unpack it"
            )
    if issue and len(directory) > 1:
        raise errors.UsageError(
            f"expected one run directory with --issue, got {len(directory)}: name one of them"
        )
    codes = [0]
    with outputs.chosen() as out, indexing.refreshed_where_it_is([] if issue else directory):
        for path in directory:
            try:
                _report(path, is_issue=issue)
            except errors.HarnessError as error:
                if len(directory) == 1:
                    raise
                codes.append(type(error).exit_code)
                displaying.show_line(displaying.failed(path, error), out=out)
    return displaying.worst(codes)


def _report(path: pathlib.Path, *, is_issue: bool) -> None:
    from harness.checks import judging, verdict_files
    from harness.report import publishing

    existing = directories.existing(path)
    examination = judging.examine(existing)
    if is_issue:
        from harness.reproduction import issue_texts

        print(issue_texts.text(examination), end="")
        return
    if os.path.lexists(existing.verdict):
        verdict_files.require_own(existing, examination.judgement)
    publishing.publish(examination)
    print(existing.report)
