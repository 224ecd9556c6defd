"""Puts a judgement and its pages into the run directory, so that at no moment two of them contradict each other.

The pages of an earlier judgement go first, then verdict.json is replaced whole, then the new pages come. What is interrupted or fails in
between leaves fewer files, and none that says something else than verdict.json.
"""

import contextlib

from harness import errors, writing
from harness.checks import judging
from harness.history import directories
from harness.report import rendering


def publish(examination: judging.Examination) -> None:
    """Write verdict.json, report.html, junit.xml and trace.json; StorageError or UnwritableError where that cannot be done.

    Of a folder that cannot be changed, all stays as it was.
    """
    directory = examination.history.directory
    _remove_pages(directory)
    _replace_verdict(directory, examination.judgement)
    rendering.write(examination)


def _remove_pages(directory: directories.RunDirectory) -> None:
    for page in directory.pages():
        with writing.explained(page):
            page.unlink(missing_ok=True)


def _replace_verdict(directory: directories.RunDirectory, judgement: judging.Judgement) -> None:
    """Where the new one finds no room, an older one goes as well: it may be of other evidence."""
    try:
        judging.write(directory, judgement)
    except errors.StorageError:
        with contextlib.suppress(OSError):
            directory.verdict.unlink(missing_ok=True)
        raise
