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
        return audit_history.fold(self.reader, namespace=self.namespace)


class AuditComparison(msgspec.Struct, frozen=True):
    """The result of reading and comparing an audit log."""

    log: AuditLog
    compared: comparing.Comparison

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "AuditComparison":
        log, holds = evidence[AuditLog], evidence[hold_history.HoldHistory].holds
        compared = comparing.compare(
            log.folded,
            evidence[watched_writes.WatchedWrites],
            ((hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in holds),
            ends=fault_records.api_server_ends(evidence[fault_records.FaultRecords]),
        )
        return cls(log, compared)


def given(
    history: histories.History, brought: Sequence[pathlib.Path]
) -> dict[protocol.Kind, object]:
    """Return the audit log that was brought along, or the run's own, and what is compared with it.

    Empty if there is no log to compare.
    """
    if not history.plan.audit_log and not brought:
        return {}
    log = AuditLog(brought or history.directory.audit_logs(), namespace=history.plan.namespace)
    watched = watched_writes.WatchedWrites(log.folded.writes)
    return {AuditLog: log, watched_writes.WatchedWrites: watched}


def answer(told: AuditComparison) -> tuple[bool, str]:
    """Return whether the audit log agrees, and the figures or differences."""
    reader, compared = told.log.reader, told.compared
    if not told.log.paths:
        return False, "there is no audit log, though the plan expects one"
    if not reader.events:
        return False, "; ".join(["the audit log has no events", *reader.notes])
    if not compared.writes:
        return False, "there is nothing to compare: no write of a claim or pod was observed"
    if compared.difference_count:
        return False, _differences(told)
    told_of = (
        f"{compared.writes} writes and {compared.holds} holds are the same in {reader.events} "
        f"events ({reader.size_bytes / 2**20:.1f} MiB)"
    )
    if compared.lost:
        told_of += (
            f"; {compared.lost} more were committed as the API server was killed, which logged "
            "no more"
        )
    return True, told_of + _loss(reader, "no write was missing for it")


def _differences(told: AuditComparison) -> str:
    compared = told.compared
    if not compared.confirmed:
        why = "it is of another cluster or another time"
        for item in told.log.folded.unclear[:1]:
            why = f"it has only requests that tell no object, the first {item.reason}"
        return f"none of the {compared.writes} observed writes is in the audit log: {why}"
    count = compared.difference_count
    shown = [item.text for item in compared.differences[:SHOWN_MAX]]
    more = [f"and {count - len(shown)} more"] if count > len(shown) else []
    head = f"{count} difference{'s' if count > 1 else ''}"
    told_of = f"{head}: {'; '.join([*shown, *more, *_late(told)])}"
    return told_of + _loss(told.log.reader, "writes may be missing for it")


def _late(told: AuditComparison) -> list[str]:
    """Say that the log begins late, if that is why writes are missing."""
    logged = [version for writes in told.log.folded.writes.values() for version in writes]
    versions = [item.version for item in told.compared.differences if item.version]
    first = min(logged, default=0)
    if not versions or min(versions) >= first:
        return []
    return [f"the log begins at revision {first} only: are earlier parts missing?"]


def _loss(reader: audit_files.AuditReader, matters: str) -> str:
    if not reader.damaged:
        return ""
    return f"; the log has {reader.damaged} damaged lines ({matters}), first {reader.notes[0]}"
