"""The second witness: compares the audit log with the watch, for the certificate.

A damaged or incomplete log matters only if a write is missing in it: the differences say which.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Sequence

import msgspec

from harness.checks import protocol
from harness.checks.faults import fault_records
from harness.checks.holds import hold_history
from harness.checks.witness import audit_files, audit_history, comparing, watched_writes
from harness.history import histories

NAME = "witness"
"""The item of the certificate that this module answers."""
SHOWN_MAX = 5
"""Number of differences in the answer."""


@dataclasses.dataclass(frozen=True)
class AuditLog:
    """An audit log, read and folded when it is asked for."""

    paths: Sequence[pathlib.Path]
    """Its parts."""
    namespace: str
    """Of the claims and pods that are followed."""

    @functools.cached_property
    def reader(self) -> audit_files.AuditReader:
        """The reader of all parts; it has read them when they are folded."""
        return audit_files.AuditReader(self.paths)

    @functools.cached_property
    def folded(self) -> audit_history.AuditHistory:
        """The writes in it."""
        return audit_history.fold(self.reader, namespace=self.namespace)

    def watching(self) -> watched_writes.WatchedWrites:
        """Return what observes the writes that are compared with it."""
        told = self.folded
        return watched_writes.WatchedWrites(told.writes, attempted=told.attempted())


class AuditComparison(msgspec.Struct, kw_only=True):
    """The result of reading and comparing an audit log."""

    files: int
    events: int
    size_bytes: int
    damaged: int
    notes: list[str]
    unclear: str
    """How the first request looks that may have written something; empty: there is none."""
    first_rv: int
    """The least revision of a write of a claim or pod in the log; 0: there is none."""
    comparison: comparing.Comparison

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "AuditComparison":
        """Compare the audit log with the watch and its holds."""
        log, folded = evidence[AuditLog], evidence[hold_history.HoldHistory]
        versions = [min(writes) for writes in log.folded.writes.values() if writes]
        return cls(
            files=len(log.paths),
            events=log.reader.events,
            size_bytes=log.reader.size_bytes,
            damaged=log.reader.damaged,
            notes=log.reader.notes,
            unclear=next((item.reason for item in log.folded.unclear), ""),
            first_rv=min(versions, default=0),
            comparison=comparing.compare(
                log.folded,
                evidence[watched_writes.WatchedWrites],
                ((hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds),
                ends=fault_records.api_server_ends(evidence[fault_records.FaultRecords]),
            ),
        )


def given(
    history: histories.History, brought: Sequence[pathlib.Path]
) -> dict[protocol.Kind, object]:
    """Return the audit log that was brought along, or the run's own, and what is compared with it.

    Empty if there is no log to compare.
    """
    if not history.plan.audit_log and not brought:
        return {}
    log = AuditLog(brought or history.directory.audit_logs(), namespace=history.plan.namespace)
    return {AuditLog: log, watched_writes.WatchedWrites: log.watching()}


def disputed(evidence: protocol.Evidence) -> Sequence[comparing.Difference]:
    """Return the observed states of objects of which the audit log has another one."""
    return evidence[AuditComparison].comparison.disputed if AuditLog in evidence else ()


def answer(told: AuditComparison) -> tuple[bool, str]:
    """Return whether the audit log agrees, and the figures or differences."""
    if not told.files:
        return False, "there is no audit log, though the plan expects one"
    if not told.events:
        return False, "; ".join(["the audit log has no events", *told.notes])
    compared = told.comparison
    if not compared.writes:
        return False, "there is nothing to compare: no write of a claim or pod was observed"
    if compared.difference_count:
        return False, _differences(told)
    figures = (
        f"{compared.writes} writes and {compared.holds} holds are the same in {told.events} events "
        f"({told.size_bytes / 2**20:.1f} MiB)"
    )
    return True, "; ".join([figures, *_lost(told), *_loss(told, "no write was missing for it")])


def _differences(told: AuditComparison) -> str:
    compared = told.comparison
    if not compared.confirmed:
        why = "it is of another cluster or another time"
        if told.unclear:
            why = f"it has only requests that tell no object, the first {told.unclear}"
        return f"none of the {compared.writes} observed writes is in the audit log: {why}"
    count = compared.difference_count
    shown = [item.text for item in compared.differences[:SHOWN_MAX]]
    more = [f"and {count - len(shown)} more"] if count > len(shown) else []
    hints = [*_late(told), *_loss(told, "writes may be missing for it")]
    head = f"{count} difference{'s' if count > 1 else ''}"
    return f"{head}: {'; '.join([*shown, *more, *hints])}"


def _late(told: AuditComparison) -> list[str]:
    """Say that the log begins late, if that is why writes are missing."""
    versions = [item.version for item in told.comparison.differences if item.version]
    if not versions or min(versions) >= told.first_rv:
        return []
    return [f"the log begins at revision {told.first_rv} only: are earlier parts missing?"]


def _lost(told: AuditComparison) -> list[str]:
    lost = told.comparison.lost
    if not lost:
        return []
    return [f"{lost} more were committed as the API server was killed, which logged no more"]


def _loss(told: AuditComparison, matters: str) -> list[str]:
    if not told.damaged:
        return []
    return [f"the log has {told.damaged} damaged lines ({matters}), first {told.notes[0]}"]
