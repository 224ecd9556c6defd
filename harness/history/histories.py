"""A run directory as those who judge it read it: file by file, in constant memory, and all of one run.

What is missing is said to be missing, and left to the certificate. A mix of files of several runs, or of several boots of the
host (whose clocks cannot be compared), is refused.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Iterable

from harness import errors
from harness.history import directories, plans, records


@dataclasses.dataclass(frozen=True)
class History:
    """The records of one run."""

    directory: directories.RunDirectory
    plan: plans.Plan

    @functools.cached_property
    def processes(self) -> records.Journal | None:
        """Starts, ends and phases; None when the orchestrator wrote nothing."""
        path = self.directory.processes
        return records.read(path) if path.is_file() else None

    def observations(self) -> records.Reader | None:
        """What was committed; None when the recorder wrote nothing. Iterate once."""
        return _reader(self.directory.observations)

    def operations(self, process: str) -> records.Reader | None:
        """The API calls of one process; None when it wrote nothing. Iterate once."""
        return _reader(self.directory.operations(process))

    def steps(self, process: str) -> records.Reader | None:
        """The named steps of one process of the subject; None when it wrote none. Iterate once."""
        return _reader(self.directory.steps(process))

    @property
    def phases(self) -> Iterable[records.Phase]:
        """The phases of the run."""
        journal = self.processes
        return (
            [item for item in journal.records if isinstance(item, records.Phase)] if journal else []
        )


def load(path: pathlib.Path) -> History:
    """The history in a directory; RunDirectoryError when it is none, HistoryError when it is a mix or damaged."""
    directory = directories.existing(path)
    history = History(directory, plans.read(directory.plan))
    for file in _files(directory):
        _require_same_run(history.plan, file)
    return history


def _files(directory: directories.RunDirectory) -> list[pathlib.Path]:
    single = [directory.processes, directory.observations, directory.fault_windows]
    found = [path for path in single if path.is_file()]
    return [*found, *directory.all_operations(), *directory.all_steps()]


def _require_same_run(plan: plans.Plan, file: pathlib.Path) -> None:
    header = records.read_header(file)
    if header is None:
        return  # not even one whole line: as good as missing
    if header.run_id != plan.run_id:
        raise errors.HistoryError(
            f"{file}: expected a file of run {plan.run_id} (plan.json), got one of run {header.run_id}"
        )
    if header.boot_id != plan.boot_id:
        raise errors.HistoryError(
            f"{file}: written on another boot of the host than plan.json: its times cannot be compared"
        )


def _reader(path: pathlib.Path) -> records.Reader | None:
    return records.Reader(path) if path.is_file() else None
