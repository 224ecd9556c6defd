"""A run directory as those who judge it read it: file by file, in constant memory, and all of one run.

What is missing or damaged is said to be so, and left to the certificate. A file of another run, or of another boot of the host
(whose clocks cannot be compared), counts as damaged from its first line.
"""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterable, Iterator

from harness import errors
from harness.history import directories, files, journal_reader, plans, records


class EvidenceReader(journal_reader.Reader):
    """Reads a journal of one run as far as it is sound; read `damage` afterwards."""

    def __init__(self, path: pathlib.Path, plan: plans.Plan) -> None:
        super().__init__(path)
        self._plan = plan
        self.damage = ""
        """What ended the reading before its time, with file and line; empty when nothing did."""

    def __iter__(self) -> Iterator[records.Body]:
        try:
            yield from super().__iter__()
        except errors.HistoryError as error:
            self.damage = str(error)
        except OSError as error:
            self.damage = f"{self.path.name}: cannot be read ({error.strerror})"

    def _accept_header(self, header: records.Header, number: int) -> None:
        super()._accept_header(header, number)
        if header.run_id != self._plan.run_id:
            raise errors.HistoryError(
                f"{self.path.name}: expected a file of run {self._plan.run_id} (plan.json), got one of run {header.run_id}"
            )
        if header.boot_id != self._plan.boot_id:
            raise errors.HistoryError(
                f"{self.path.name}: written on another boot of the host than plan.json: its times cannot be compared"
            )


@dataclasses.dataclass(frozen=True)
class History:
    """The records of one run."""

    directory: directories.RunDirectory
    plan: plans.Plan
    _readers: dict[pathlib.Path, EvidenceReader] = dataclasses.field(
        default_factory=dict, init=False
    )

    @functools.cached_property
    def processes(self) -> journal_reader.Journal | None:
        """Starts, ends and phases; None when the orchestrator wrote nothing."""
        reader = self._reader(self.directory.processes)
        return None if reader is None else journal_reader.gather(reader)

    def observations(self) -> EvidenceReader | None:
        """What was committed; None when the recorder wrote nothing. Iterate once."""
        return self._reader(self.directory.observations)

    def operations(self, process: str) -> EvidenceReader | None:
        """The API calls of one process; None when it wrote nothing. Iterate once."""
        return self._reader(self.directory.operations(process))

    def steps(self, process: str) -> EvidenceReader | None:
        """The named steps of one process of the subject; None when it wrote none. Iterate once."""
        return self._reader(self.directory.steps(process))

    @property
    def phases(self) -> Iterable[records.Phase]:
        """The phases of the run."""
        journal = self.processes
        return (
            [item for item in journal.records if isinstance(item, records.Phase)] if journal else []
        )

    def damages(self) -> list[str]:
        """What is wrong with the files that were read, as far as they were, and with the beginnings of the others."""
        for path in self.directory.journals():
            if path not in self._readers:
                reader = EvidenceReader(path, self.plan)
                next(iter(reader), None)
                self._readers[path] = reader
        return [
            self._readers[path].damage
            for path in sorted(self._readers)
            if self._readers[path].damage
        ]

    def digests(self) -> dict[str, str]:
        """The name of every file of the evidence -> `files.digest` of it."""
        paths = [self.directory.plan, *self.directory.journals()]
        return {path.name: files.digest(path) for path in paths}

    def _reader(self, path: pathlib.Path) -> EvidenceReader | None:
        if not os.path.lexists(path):
            return None
        self._readers[path] = EvidenceReader(path, self.plan)
        return self._readers[path]


def load(path: pathlib.Path) -> History:
    """The history in a directory; RunDirectoryError when it is none."""
    directory = directories.existing(path)
    return History(directory, plans.read(directory.plan))
