"""Reads the evidence in a run directory for judging.

Missing and damaged files raise no error; readers note the damage for the certificate. A file of
another run, or of another boot of the host (whose clocks cannot be compared), counts as damaged,
and so does a file that was changed after the run, as its manifest shows: nothing rests on it.
"""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from harness import errors
from harness.history import directories, files, journal_reader, manifests, plans, records
from harness.model import naming

T = TypeVar("T")
DAMAGED_HASHED_MAX = 2**30
"""Largest damaged journal that is hashed, in bytes; nothing rests on a damaged one, and a line
without an end can be as long as the file system allows."""


class EvidenceReader(journal_reader.Reader):
    """Reads a journal of one run up to its first damage; read `damage` after the iteration."""

    def __init__(
        self,
        path: pathlib.Path,
        plan: plans.Plan,
        *,
        may_be_cut_off: bool = False,
        change: str = "",
        decode: journal_reader.DecodeLines | None = None,
    ) -> None:
        """`may_be_cut_off`: the writer could not close the file (see `History.cut_off`).

        `change`: how the file was changed after the run; empty: it was not. `decode`: see
        `journal_reader.Reader`; None: as records.
        """
        super().__init__(path, decode=decode)
        self._plan, self.may_be_cut_off = plan, may_be_cut_off
        self.damage = f"{path.name} {change}" if change else ""
        """The damage that ended the iteration, with file and line; empty if there was none."""

    def blocks(self) -> Iterator[Sequence[Any]]:
        if self.damage:
            return
        try:
            yield from super().blocks()
        except errors.HistoryError as error:
            self.damage = str(error)
        except OSError as error:
            self.damage = f"{self.path.name}: cannot be read ({error.strerror})"

    def ended_in_order(self, what: str) -> tuple[bool, str]:
        """Return whether the writer was closed, and the reason as text; call after the iteration.

        A writer that may be cut off need not be closed. `what` names the records in the plural:
        `observations`.
        """
        if self.damage:
            return False, f"the {what} are damaged"
        if self.may_be_cut_off and self.trailer is None:
            if self.header is None:
                return False, f"the {what} have no header: nothing shows of which run they are"
            return True, "cut off when the process was killed by a fault or lost its lease"
        if self.torn:
            return False, f"the last line of the {what} is incomplete: the writer was killed"
        if self.trailer is None:
            return False, f"the {what} have no trailer: the writer was not closed"
        return True, f"{self.trailer.count} records, file closed"

    def _accept_header(self, header: records.Header, number: int) -> None:
        super()._accept_header(header, number)
        if header.run_id != self._plan.run_id:
            raise errors.HistoryError(
                f"{self.path.name}: expected a file of run {self._plan.run_id} (plan.json), got one of run {header.run_id}"
            )
        if header.boot_id != self._plan.boot_id:
            raise errors.HistoryError(
                f"{self.path.name}: written on another boot of the host than plan.json: "
                "its times cannot be compared"
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
    def compared(self) -> manifests.Comparison:
        return manifests.compare(self.directory, self.plan)

    @functools.cached_property
    def processes(self) -> journal_reader.Reader | None:
        reader = self._reader(self.directory.processes)
        return None if reader is None else reader.gathered()

    @functools.cached_property
    def cut_off(self) -> frozenset[str]:
        """Names of the processes that a fault killed or that lost their lease.

        Their journals may end at any byte.
        """
        return frozenset(
            item.process
            for item in self._of_run(records.ProcessEnded)
            if item.lease_lost or (item.fault and item.exit_code < 0)
        )

    def _expected(self, key: str) -> list[str]:
        names = dict.fromkeys(getattr(self.plan, key))
        started = (item.process for item in self._of_run(records.ProcessStarted))
        later = [name for name in started if naming.first_incarnation(name) in names]
        return list(names | dict.fromkeys(later))

    expected_operations = functools.partialmethod(_expected, "expected_operations")
    expected_steps = functools.partialmethod(_expected, "expected_steps")
    expected_writes = functools.partialmethod(_expected, "expected_writes")
    expected_preparations = functools.partialmethod(_expected, "expected_preparations")
    expected_pool_changes = functools.partialmethod(_expected, "expected_pool_changes")
    # The names of the processes that must leave such a file.

    def observations(
        self, decode: journal_reader.DecodeLines | None = None
    ) -> EvidenceReader | None:
        """Return a reader of the observations, to iterate once; None if there is no file.

        `decode`: see `journal_reader.Reader`; None: as records.
        """
        return self._reader(self.directory.observations, decode=decode)

    def _journal(self, kind: str, process: str = "") -> EvidenceReader | None:
        """Return a reader of a journal of a process or of the run, to iterate once.

        None if there is no file.
        """
        found = getattr(self.directory, kind)
        return self._reader(found(process) if process else found, process)

    operations = functools.partialmethod(_journal, "operations")
    steps = functools.partialmethod(_journal, "steps")
    preparations = functools.partialmethod(_journal, "preparations")
    pool_changes = functools.partialmethod(_journal, "pool_changes")
    faults = functools.partialmethod(_journal, "faults")
    script = functools.partialmethod(_journal, "script")
    orders = functools.partialmethod(_journal, "orders")

    @property
    def phases(self) -> list[records.Phase]:
        return self._of_run(records.Phase)

    def _of_run(self, kind: type[T]) -> list[T]:
        """Return the records of a kind that the run itself has written."""
        journal = self.processes.records if self.processes else []
        return [item for item in journal if isinstance(item, kind)]

    def damages(self) -> list[str]:
        """Return the damage found in all journals.

        Of journals that no reader has iterated, only the beginning is read.
        """
        for path in self.directory.journals():
            if path not in self._readers and (reader := self._reader(path)):
                next(iter(reader), None)
        return [reader.damage for _, reader in sorted(self._readers.items()) if reader.damage]

    def digests(self) -> dict[str, str]:
        """Return name -> digest, or why there is none.

        Of plan.json, journals, audit log and manifest.
        """
        directory, known = self.directory, self.compared.digests
        paths = [directory.plan, *directory.journals(), *directory.audit_logs()]
        if os.path.lexists(directory.manifest):
            paths.append(directory.manifest)
        names = {path.relative_to(directory.path).as_posix(): path for path in paths}
        return {name: known.get(name) or self._digest(path) for name, path in names.items()}

    def _digest(self, path: pathlib.Path) -> str:
        damage = self._readers[path].damage if path in self._readers else ""
        if damage and path.lstat().st_size > DAMAGED_HASHED_MAX:
            return f"not hashed: {damage}"
        return files.digest_or_reason(path)

    def _reader(
        self,
        path: pathlib.Path,
        process: str = "",
        decode: journal_reader.DecodeLines | None = None,
    ) -> EvidenceReader | None:
        if not os.path.lexists(path):
            return None
        self._readers[path] = EvidenceReader(
            path,
            self.plan,
            may_be_cut_off=bool(process) and process in self.cut_off,
            change=self._change(path),
            decode=decode,
        )
        return self._readers[path]

    def _change(self, path: pathlib.Path) -> str:
        forms = directories.forms(path)
        if len(forms) > 1:
            other = next(found for found in forms if found != path)
            return (
                f"is there beside {other.name}: two writers shared the run directory, or one "
                "is a copy: remove the copy"
            )
        return self.compared.changes.get(path.name, "")


def load(path: pathlib.Path) -> History:
    """Load the history of a run directory.

    Raises RunDirectoryError if it is not a run directory.
    """
    directory = directories.existing(path)
    return History(directory, plans.read(directory.plan))
