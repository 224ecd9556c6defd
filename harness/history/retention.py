"""Removes the evidence of a run that was judged, and notes that, how and when it was removed.

The verdict, its pages and the plan stay, so that campaigns and comparisons have the run.
It cannot be judged again. The note counts only where there is no journal: it hides no evidence.
"""

import contextlib
import pathlib
import shutil

import msgspec

from harness import clocks, errors, writing
from harness.history import directories, files

NOTE = "evidence-removed.json"
"""Name of the note in the run directory."""
SCHEMA_VERSION = 1


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the note."""

    schema: int = SCHEMA_VERSION
    reason: str
    """Why the evidence was removed, such as `--keep 10`."""
    removed: str
    """Time in UTC, `2026-01-31T23:59:59Z`."""


def remove(directory: directories.RunDirectory, *, reason: str) -> None:
    """Remove journals, audit log, logs, kubelet files and trace of a run that has a verdict.

    Raises StorageError or UnwritableError if the folder cannot be written.
    """
    note = Removed(reason=reason, removed=clocks.wall_text())
    content = msgspec.json.format(msgspec.json.encode(note)) + b"\n"
    writing.replace(directory.path / NOTE, content)
    with writing.explained(directory.path):
        for path in directory.path.iterdir():
            if path.name not in kept(directory):
                _unlink(path)


def kept(directory: directories.RunDirectory) -> set[str]:
    """Return the names of the files that stay in a run directory."""
    evidence = (directory.scenario, directory.plan, directory.cluster, directory.manifest)
    judged = (directory.verdict, directory.report, directory.junit, directory.summary)
    return {NOTE, *(path.name for path in (*evidence, *judged))}


def _unlink(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def of_run(directory: directories.RunDirectory) -> Removed | None:
    """Return the note of a run without journals; None if there is none that can be read."""
    if directory.journals():
        return None
    with contextlib.suppress(errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(files.read_small(directory.path / NOTE), type=Removed)
    return None


def require_evidence(directory: directories.RunDirectory) -> None:
    """Raise RemovedEvidenceError if the evidence of a run was removed."""
    note = of_run(directory)
    if note is not None:
        raise errors.RemovedEvidenceError(
            f"expected the evidence of {directory.path}, but it was removed on {note.removed} "
            f"({note.reason}): the run cannot be judged again; verdict.json and report.html have "
            "the verdict that it had"
        )
