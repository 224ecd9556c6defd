"""Writes a judgement and its pages into the run directory; at no time do they contradict.

First the pages of an earlier judgement are removed, then verdict.json is replaced, then the new
pages are written. After an interruption or a failure, pages may be missing, but none is stale.
"""

import contextlib
import os
import stat

from harness import errors, writing
from harness.checks import judging, verdict_files
from harness.history import directories
from harness.report import rendering


def publish(examination: judging.Examination) -> None:
    """Write verdict.json, report.html, junit.xml, summary.md and trace.json.

    Raises StorageError if the disk is full or broken, and UnwritableError if the folder is
    read-only; a read-only folder stays unchanged.
    """
    directory = examination.history.directory
    _remove_pages(directory)
    _replace_verdict(directory, examination.judgement)
    rendering.write(examination)


def _remove_pages(directory: directories.RunDirectory) -> None:
    for page in directory.pages():
        with writing.explained(page):
            page.unlink(missing_ok=True)


def _replace_verdict(
    directory: directories.RunDirectory, judgement: verdict_files.Judgement
) -> None:
    """Replace verdict.json; on failure remove an older one, which may be about other evidence.

    A link or a FIFO in its place is removed first: it must not be followed or waited for.
    """
    with writing.explained(directory.verdict):
        if os.path.lexists(directory.verdict) and not stat.S_ISREG(
            directory.verdict.lstat().st_mode
        ):
            directory.verdict.unlink()
    try:
        verdict_files.write(directory, judgement)
    except errors.StorageError:
        with contextlib.suppress(OSError):
            directory.verdict.unlink(missing_ok=True)
        raise
