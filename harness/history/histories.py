"""Reads the evidence in a run directory for judging.

Missing and damaged files raise no error; readers note the damage for the certificate. A file of
another run, or of another boot of the host (whose clocks cannot be compared), counts as damaged,
and so does a file that was changed after the run, as its manifest shows: nothing rests on it.
Workers of the load may run on other hosts, if the plan says so and traffic-workers.jsonl names
theirs: the times in their files are read as times of the run's clock, see `clock_domains`.
"""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from harness import errors
from harness.history import (
    clock_domains,
    directories,
    files,
    journal_reader,
    manifests,
    plans,
    records,
)
from harness.model import naming

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
        decode: journal_reader.Decode | None = None,
        domain: clock_domains.ClockDomain | None = None,
    ) -> None:
        """`may_be_cut_off`: the writer could not close the file (see `History.cut_off`).

        `change`: how the file was changed after the run; empty: it was not. `decode`: see
        `journal_reader.Reader`; None: as records. `domain`: the writer's clock; None: the run's.
        """
        super().__init__(path, decode=decode)
        self._plan, self._domain, self.may_be_cut_off = plan, domain, may_be_cut_off
        self.damage = f"{path.name} {change}" if change else ""
        """The damage that ended the iteration, with file and line; empty if there was none."""

    def __iter__(self) -> Iterator[Any]:
        if self.damage:
            return
        try:
            found = super().__iter__()
            yield from map(self._domain.on_run_clock, found) if self._domain else found
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
        domain = self._domain
        if header.boot_id == (domain.boot_id if domain else self._plan.boot_id):
            return
        if domain:
            raise errors.HistoryError(
                f"{self.path.name}: written on another boot of {domain.host} than "
                f"{directories.TRAFFIC_WORKERS} says"
            )
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
    def processes(self) -> journal_reader.Journal | None:
        """Starts and ends of processes, and phases; None if the file is missing."""
        reader = self._reader(self.directory.processes)
        return None if reader is None else journal_reader.gather(reader)

    @functools.cached_property
    def cut_off(self) -> frozenset[str]:
        """Names of the processes that a fault killed or that lost their lease.

        Their journals may end at any byte.
        """
        journal = self.processes
        return frozenset(
            item.process
            for item in (journal.records if journal else ())
            if isinstance(item, records.ProcessEnded)
            and (item.lease_lost or (item.fault and item.exit_code < 0))
        )

    @functools.cached_property
    def remote_workers(self) -> clock_domains.RemoteWorkers:
        """The workers of the load on other hosts; a problem if there is no record of them."""
        if not self.plan.remote_operations:
            return clock_domains.RemoteWorkers(domains={}, problems=())
        name = directories.TRAFFIC_WORKERS
        reader = self._reader(self.directory.traffic_workers)
        if reader is None:
            missing = f"{name} is missing: it tells on which hosts the load ran"
            return clock_domains.RemoteWorkers(domains={}, problems=(missing,))
        found = clock_domains.fold(reader, self.plan)
        ok, reason = reader.ended_in_order(f"records of {name}")
        return found if ok else dataclasses.replace(found, problems=(*found.problems, reason))

    def expected_operations(self) -> list[str]:
        """Return the names of the processes that must leave an operations file."""
        return self._incarnations(self.plan.expected_operations)

    def expected_steps(self) -> list[str]:
        """Return the names of the processes that must leave a steps file."""
        return self._incarnations(self.plan.expected_steps)

    def expected_writes(self) -> list[str]:
        """Return the names of the processes that must leave a file of the subject's writes."""
        return self._incarnations(self.plan.expected_writes)

    def expected_preparations(self) -> list[str]:
        """Return the names of the processes that must leave a file of preparations."""
        return self._incarnations(self.plan.expected_preparations)

    def expected_pool_changes(self) -> list[str]:
        """Return the names of the processes that must leave a file of changes of pools."""
        return self._incarnations(self.plan.expected_pool_changes)

    def _incarnations(self, planned: Iterable[str]) -> list[str]:
        """Return the planned processes, each with the later ones that took its place."""
        names = dict.fromkeys(planned)
        started = [
            item.process
            for item in (self.processes.records if self.processes else ())
            if isinstance(item, records.ProcessStarted)
        ]
        later = [name for name in started if naming.first_incarnation(name) in names]
        return list(names | dict.fromkeys(later))

    def observations(self, decode: journal_reader.Decode | None = None) -> EvidenceReader | None:
        """Return a reader of the observations, to iterate once; None if there is no file.

        `decode`: see `journal_reader.Reader`; None: as records.
        """
        return self._reader(self.directory.observations, decode=decode)

    def operations(self, process: str) -> EvidenceReader | None:
        """Return a reader of one process's calls, to iterate once; None if there is no file."""
        return self._reader(self.directory.operations(process), process)

    def steps(self, process: str) -> EvidenceReader | None:
        """Return a reader of one process's steps, to iterate once; None if there is no file."""
        return self._reader(self.directory.steps(process), process)

    def preparations(self, process: str) -> EvidenceReader | None:
        """Return a reader of the preparations of one process, to iterate once; None: no file."""
        return self._reader(self.directory.preparations(process), process)

    def pool_changes(self, process: str) -> EvidenceReader | None:
        """Return a reader of one process's changes of pools, to iterate once; None: no file."""
        return self._reader(self.directory.pool_changes(process), process)

    def faults(self) -> EvidenceReader | None:
        """Return a reader of the effects of faults, to iterate once; None if there is no file."""
        return self._reader(self.directory.faults)

    def script(self) -> EvidenceReader | None:
        """Return a reader of the steps of the script, to iterate once; None if there is no file."""
        return self._reader(self.directory.script)

    def orders(self) -> EvidenceReader | None:
        """Return a reader of the orders that were tried, to iterate once; None: no file."""
        return self._reader(self.directory.orders)

    @property
    def phases(self) -> Iterable[records.Phase]:
        journal = self.processes
        return (
            [item for item in journal.records if isinstance(item, records.Phase)] if journal else []
        )

    def damages(self) -> list[str]:
        """Return the damage found in all journals.

        Of journals that no reader has iterated, only the beginning is read.
        """
        for path in self.directory.journals():
            if path not in self._readers:
                reader = self._new_reader(path)
                next(iter(reader), None)
                self._readers[path] = reader
        return [
            self._readers[path].damage
            for path in sorted(self._readers)
            if self._readers[path].damage
        ]

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
        decode: journal_reader.Decode | None = None,
    ) -> EvidenceReader | None:
        if not os.path.lexists(path):
            return None
        cut_off = bool(process) and process in self.cut_off
        self._readers[path] = self._new_reader(path, may_be_cut_off=cut_off, decode=decode)
        return self._readers[path]

    def _new_reader(
        self,
        path: pathlib.Path,
        *,
        may_be_cut_off: bool = False,
        decode: journal_reader.Decode | None = None,
    ) -> EvidenceReader:
        of_calls = {self.directory.operations(name): name for name in self.plan.remote_operations}
        name = of_calls.get(path)
        return EvidenceReader(
            path,
            self.plan,
            may_be_cut_off=may_be_cut_off,
            change=self._change(path),
            decode=decode,
            domain=self.remote_workers.domains.get(name) if name else None,
        )

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
