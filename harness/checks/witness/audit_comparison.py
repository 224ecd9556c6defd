"""The second witness: compares the writes and holds of the audit log with those of the watch.

Writes are compared by revision, between the recorder's first and final list: only there both must
know all. A write whose answer has no revision explains one observation of its object that no other
event explains. Clocks and the order of the log play no part. A damaged or incomplete log matters
only if a write is missing in it: the differences say which.
"""

import collections
import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.checks import fault_records, protocol
from harness.checks.holds import hold_history
from harness.checks.witness import audit_history, hidden_writes, witnessed_writes
from harness.history import histories

KEPT_MAX = 20
"""Number of differences that are kept as text."""


class Comparison(msgspec.Struct):
    """The result of comparing both witnesses."""

    writes: int = 0
    """Number of observed writes that were compared."""
    confirmed: int = 0
    """States that the audit log confirms."""
    holds: int = 0
    """Number of the watch's holds that were compared."""
    lost: int = 0
    """Observed writes that the log lacks because the API server was killed."""
    difference_count: int = 0
    differences: list[hidden_writes.Difference] = []
    """The first KEPT_MAX of them."""
    is_disputed: bool = False
    """True if both witnesses have a state of one object, and these differ."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Comparison":
        holds = evidence[hold_history.HoldHistory].holds
        return compare(
            evidence[AuditLog].folded,
            evidence[witnessed_writes.WatchedWrites],
            ((hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in holds),
            ends=fault_records.api_server_ends(evidence[fault_records.FaultRecords]),
        )

    def note(self, found: Iterable[hidden_writes.Difference]) -> None:
        for difference in found:
            self.difference_count += 1
            if len(self.differences) < KEPT_MAX:
                self.differences.append(difference)
            self.is_disputed |= difference.is_disputed


WatchedHold = tuple[str, str, int, int | None]
"""Claim uid, device, first revision, exclusive last revision; None: to the end."""


def compare(
    audited: audit_history.AuditHistory,
    watched: witnessed_writes.WatchedWrites,
    holds: Iterable[WatchedHold],
    *,
    ends: Sequence[hidden_writes.End] = (),
) -> Comparison:
    """Return how the audit log compares with the watch and the holds that it was folded to.

    `ends` are those of the API server.
    """
    found = Comparison()
    found.note(
        hidden_writes.difference(
            first.resource,
            first.state,
            "is not asked",
            f"has two writes of this revision: {_told(first)}, and {_told(second)}",
        )
        for first, second in audited.contradictions
    )
    windows = hidden_writes.kill_windows(audited, watched.streams.values(), ends)
    for resource, stream in watched.streams.items():
        found.note(_of_writes(resource, audited, stream, found, windows.get(resource, ())))
    claims = watched.streams[audit_history.CLAIMS]
    if not claims.gaps and claims.gap_rv is None:
        found.note(_of_holds(audited, claims, list(holds), found))
    return found


# ------------------------------------------------------------------------------- writes


def _of_writes(
    resource: str,
    audited: audit_history.AuditHistory,
    stream: witnessed_writes.Stream,
    found: Comparison,
    windows: Sequence[hidden_writes.Window],
) -> Iterator[hidden_writes.Difference]:
    writes = audited.writes[resource]
    for seen in (*stream.listed, *stream.seen.values(), *stream.final.values()):
        audited.drop_unwritten(resource, seen.state)
    explained = hidden_writes.Explanations(resource, audited, stream)
    yield from _of_observations(resource, audited, stream, found, explained, windows)
    for seen in (*stream.listed, *stream.final.values()):
        write = writes.get(seen.version)
        if write and (audit := _compare(seen, write)):
            yield _difference(resource, seen, audit, is_disputed=True)
    for version in sorted(writes.keys() - stream.seen.keys()):
        if stream.covers(version):
            write = writes[version]
            told = f"has {_told(write)}"
            yield hidden_writes.difference(resource, write.state, "saw nothing", told)
    yield from explained.unseen()


def _of_observations(
    resource: str,
    audited: audit_history.AuditHistory,
    stream: witnessed_writes.Stream,
    found: Comparison,
    explained: hidden_writes.Explanations,
    windows: Sequence[hidden_writes.Window],
) -> Iterator[hidden_writes.Difference]:
    writes = audited.writes[resource]
    observed = sorted(stream.seen.values(), key=lambda seen: seen.version)
    for seen in observed:
        found.writes += 1
        write = writes.get(seen.version)
        if write:
            explained.confirmed(seen)
        audit = _compare(seen, write) if write else explained.objection(seen)
        if audit and not write and hidden_writes.is_within(windows, seen):
            found.lost += 1
            audited.adopt(resource, seen.state, is_deletion=seen.is_deletion)
        elif audit:
            yield _difference(resource, seen, audit, is_disputed=write is not None)
        else:
            found.confirmed += 1
    for seen in explained.attempted:
        audited.adopt(resource, seen.state, is_deletion=seen.is_deletion)


def _compare(seen: witnessed_writes.Seen, write: witnessed_writes.Write) -> str:
    """Return what the audit log has instead, as text; empty if it has the same."""
    one, two = seen.state, write.state
    if one.uid != two.uid:
        return f"has a write of {two.namespace}/{two.name} ({two.uid})"
    if seen.is_deletion != write.is_deletion:
        return f"has {_told(write)}"
    parts = one.differing(two)
    return f"has {_told(write)}, with another {' and '.join(parts)}" if parts else ""


def _difference(
    resource: str, seen: witnessed_writes.Seen, audit: str, *, is_disputed: bool
) -> hidden_writes.Difference:
    return hidden_writes.Difference(
        what=hidden_writes.titled(resource, seen.state),
        version=seen.version,
        watch=f"saw it {seen.state.text} ({seen.type})",
        audit=audit,
        is_disputed=is_disputed,
    )


def _told(write: witnessed_writes.Write) -> str:
    return "its deletion" if write.is_deletion else f"it {write.state.text}"


# -------------------------------------------------------------------------------- holds


def _of_holds(
    audited: audit_history.AuditHistory,
    claims: witnessed_writes.Stream,
    holds: list[WatchedHold],
    found: Comparison,
) -> Iterator[hidden_writes.Difference]:
    if claims.first_rv is None or claims.final_rv is None:
        return
    window = (claims.first_rv, claims.final_rv)
    mine, theirs = (
        _clipped(itertools.starmap(audit_history.Hold, holds), window),
        _clipped(audited.holds(), window),
    )
    found.holds = sum(map(len, mine.values()))
    names = {seen.state.uid: seen.state for seen in (*claims.listed, *claims.seen.values())}
    names |= {write.state.uid: write.state for write in audited.writes["resourceclaims"].values()}
    for uid, device in sorted(mine.keys() | theirs.keys()):
        one, two = mine.get((uid, device), []), theirs.get((uid, device), [])
        if not _agree(one, two):
            state = names.get(uid)
            yield hidden_writes.Difference(
                what=hidden_writes.titled(audit_history.CLAIMS, state) if state else uid,
                watch=f"saw {device} held {_intervals(one)}",
                audit=f"has it held {_intervals(two)}",
            )


def _clipped(
    holds: Iterable[audit_history.Hold], window: tuple[int, int]
) -> dict[tuple[str, str], list[audit_history.Hold]]:
    first, last = window
    found: dict[tuple[str, str], list[audit_history.Hold]] = collections.defaultdict(list)
    for hold in sorted(holds, key=lambda item: (item.uid, item.device, item.from_rv)):
        until = hold.until_rv
        if hold.from_rv > last or (until is not None and hold.is_end_known and until <= first):
            continue
        until = None if until is not None and until > last else until
        mine = found[hold.uid, hold.device]
        begun = max(hold.from_rv, first)
        if mine and mine[-1].until_rv == hold.from_rv:
            begun = mine.pop().from_rv
        mine.append(hold._replace(from_rv=begun, until_rv=until))
    return found


def _agree(one: list[audit_history.Hold], two: list[audit_history.Hold]) -> bool:
    begins = [hold.from_rv for hold in one] == [hold.from_rv for hold in two]
    return begins and all(map(_same_end, one, two))


def _same_end(mine: audit_history.Hold, theirs: audit_history.Hold) -> bool:
    if theirs.is_end_known:
        return mine.until_rv == theirs.until_rv
    return mine.until_rv is None or theirs.until_rv is None or mine.until_rv > theirs.until_rv


def _intervals(holds: list[audit_history.Hold]) -> str:
    told = []
    for hold in holds:
        until = f"until {'' if hold.is_end_known else 'some time after '}{hold.until_rv}"
        told.append(f"from {hold.from_rv} {'to the end' if hold.until_rv is None else until}")
    return ", ".join(told) or "never"


# ----------------------------------------------------------------------- the certificate
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
    def reader(self) -> audit_history.AuditReader:
        """The reader of all parts; it has read them when they are folded."""
        return audit_history.AuditReader(self.paths)

    @functools.cached_property
    def folded(self) -> audit_history.AuditHistory:
        return audit_history.fold(self.reader, namespace=self.namespace)


def given(
    history: histories.History, brought: Sequence[pathlib.Path]
) -> dict[protocol.Kind, object]:
    """Return the audit log that was brought along, or the run's own, and what is compared with it.

    Empty if there is no log to compare.
    """
    if not history.plan.audit_log and not brought:
        return {}
    log = AuditLog(brought or history.directory.audit_logs(), namespace=history.plan.namespace)
    watched = witnessed_writes.WatchedWrites(log.folded.writes)
    return {AuditLog: log, witnessed_writes.WatchedWrites: watched}


def answer(log: AuditLog, compared: Comparison) -> tuple[bool, str]:
    reader = log.reader
    if not log.paths:
        return False, "there is no audit log, though the plan expects one"
    if not reader.events:
        return False, "; ".join(["the audit log has no events", *reader.notes])
    if not compared.writes:
        return False, "there is nothing to compare: no write of a claim or pod was observed"
    if compared.difference_count:
        return False, _differences(log, compared)
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


def _differences(log: AuditLog, compared: Comparison) -> str:
    if not compared.confirmed:
        why = "it is of another cluster or another time"
        for item in log.folded.unclear[:1]:
            why = f"it has only requests that tell no object, the first {item.reason}"
        return f"none of the {compared.writes} observed writes is in the audit log: {why}"
    count = compared.difference_count
    shown = [item.text for item in compared.differences[:SHOWN_MAX]]
    more = [f"and {count - len(shown)} more"] if count > len(shown) else []
    head = f"{count} difference{'s' if count > 1 else ''}"
    told_of = f"{head}: {'; '.join([*shown, *more, *_late(log, compared)])}"
    return told_of + _loss(log.reader, "writes may be missing for it")


def _late(log: AuditLog, compared: Comparison) -> list[str]:
    logged = [version for writes in log.folded.writes.values() for version in writes]
    versions = [item.version for item in compared.differences if item.version]
    first = min(logged, default=0)
    if not versions or min(versions) >= first:
        return []
    return [f"the log begins at revision {first} only: are earlier parts missing?"]


def _loss(reader: audit_history.AuditReader, matters: str) -> str:
    if not reader.damaged:
        return ""
    return f"; the log has {reader.damaged} damaged lines ({matters}), first {reader.notes[0]}"
