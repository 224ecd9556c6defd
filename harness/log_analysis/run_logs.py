"""The logs of schedulers in a run directory."""

import pathlib

from harness import errors
from harness.history import directories, retention

_PATTERNS = (
    "scheduler*.log*",
    "**/pods/kube-system_kube-scheduler-*/kube-scheduler/*.log*",
)
"""Logs of the subject, and those of the cluster's own scheduler as `kind export logs` has them."""


def of_run(directory: directories.RunDirectory) -> list[str]:
    """Return the logs that are not empty, relative to the run directory."""
    paths = (path for pattern in _PATTERNS for path in sorted(directory.logs.glob(pattern)))
    return [path.relative_to(directory.path).as_posix() for path in paths if size(path)]


def required(path: pathlib.Path) -> list[str]:
    """Return the logs of a run directory.

    Raises UsageError if it is none, or has none, and RemovedEvidenceError if they were removed.
    """
    directory = directories.existing(path)
    retention.require_evidence(directory)
    names = of_run(directory)
    if not names:
        raise errors.UsageError(
            f"expected the log of a scheduler in {path / 'logs'}, but there is none, or it is empty: "
            "make the run with --set subject.verbosity=6"
        )
    return names


def size(path: pathlib.Path) -> int:
    """Return the size of a file; 0 if it is none, or cannot be looked at."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
