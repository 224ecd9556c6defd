"""The second witness: compares the audit log with the watch, for the certificate.

A damaged or incomplete log matters only if a write is missing in it: the differences say which.
"""

import pathlib
from collections.abc import Iterable, Sequence

import msgspec

from harness.checks.witness import audit_files, audit_history, comparing, watched_writes
from harness.history import plans

NAME, QUESTION = "witness", "Does the audit log tell the same?"
SHOWN_MAX = 5
"""Number of differences in the answer."""


class Testimony(msgspec.Struct, kw_only=True):
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


class AuditLog:
    """An audit log, read and folded."""

    def __init__(self, paths: Sequence[pathlib.Path], *, namespace: str) -> None:
        self._files = len(paths)
        self._reader = audit_files.AuditReader(paths)
        self.folded = audit_history.fold(self._reader, namespace=namespace)

    def watching(self) -> watched_writes.WatchedWrites:
        """Return what observes the writes that are compared with it."""
        told = self.folded
        return watched_writes.WatchedWrites(told.writes, attempted=told.attempted())

    def hear(
        self,
        watched: watched_writes.WatchedWrites,
        holds: Iterable[comparing.WatchedHold],
        *,
        kills: Sequence[int] = (),
    ) -> Testimony:
        """Compare it with the watch and its holds; `kills` as in `comparing.compare`."""
        versions = [min(writes) for writes in self.folded.writes.values() if writes]
        return Testimony(
            files=self._files,
            events=self._reader.events,
            size_bytes=self._reader.size_bytes,
            damaged=self._reader.damaged,
            notes=self._reader.notes,
            unclear=next((item.reason for item in self.folded.unclear), ""),
            first_rv=min(versions, default=0),
            comparison=comparing.compare(self.folded, watched, holds, kills=kills),
        )


def is_asked(plan: plans.Plan, brought: Sequence[pathlib.Path]) -> bool:
    """Return whether the run has an audit log to compare, or one was brought along."""
    return plan.audit_log or bool(brought)


def answer(told: Testimony | None) -> tuple[bool, str]:
    """Return whether the audit log agrees, and the figures or differences; None: no log."""
    if told is None or not told.files:
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


def _differences(told: Testimony) -> str:
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


def _late(told: Testimony) -> list[str]:
    """Say that the log begins late, if that is why writes are missing."""
    versions = [item.version for item in told.comparison.differences if item.version]
    if not versions or min(versions) >= told.first_rv:
        return []
    return [f"the log begins at revision {told.first_rv} only: are earlier parts missing?"]


def _lost(told: Testimony) -> list[str]:
    lost = told.comparison.lost
    if not lost:
        return []
    return [f"{lost} more were committed as the API server was killed, which logged no more"]


def _loss(told: Testimony, matters: str) -> list[str]:
    if not told.damaged:
        return []
    return [f"the log has {told.damaged} damaged lines ({matters}), first {told.notes[0]}"]
