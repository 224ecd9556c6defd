"""Writes that were committed as the API server was killed, and that it could not log any more.

A kill bounds them: they come after all that was answered well before it, and before all that was
asked of the server that was started afterwards. A write elsewhere must be in the log.
"""

import datetime
import statistics
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.checks.witness import audit_history, object_states, watched_writes

IN_FLIGHT_NS = 1_000_000_000
"""Longest time for which a write may have been committed and not answered when the server died."""


End = tuple[int, int]
"""When an API server surely lived last, and from when on it surely had ended: monotonic times in
nanoseconds, on the clock of the recorder."""


class Window(msgspec.Struct, frozen=True):
    """Where the writes are that a kill may have kept out of the log."""

    after: int
    before: int
    """Revisions, both exclusive."""
    from_ns: int
    """The recorder saw none of them earlier."""


def is_within(windows: Sequence[Window], seen: watched_writes.Seen) -> bool:
    """Return whether an observed write may be missing in the log because of a kill."""
    return any(
        window.after < seen.version < window.before and seen.ts_ns >= window.from_ns
        for window in windows
    )


def windows(
    audited: audit_history.AuditHistory,
    streams: Iterable[watched_writes.Stream],
    ends: Sequence[End],
) -> dict[str, list[Window]]:
    """Return the windows of each resource.

    The times of the log are compared with those of the ends by the writes that both know: as the
    recorder usually is some milliseconds late, what was asked for just before a kill would else
    seem to come after it. An end with no request after it bounds nothing.
    """
    if not ends or audited.is_restored:
        return {}
    differences = _clock_differences(audited, streams)
    if not differences:
        return {}
    return {
        resource: list(_windows(list(writes.values()), ends, differences))
        for resource, writes in audited.writes.items()
    }


def _windows(
    writes: Sequence[object_states.Write], ends: Sequence[End], differences: Sequence[int]
) -> Iterator[Window]:
    usual, least = int(statistics.median(differences)), min(differences)
    timed = [
        (received + least, answered + usual, write.state.version)
        for write in writes
        if (received := time_of(write.received)) and (answered := time_of(write.answered))
    ]
    for alive_ns, dead_ns in ends:
        from_ns = alive_ns - IN_FLIGHT_NS
        before = [version for _, answered, version in timed if answered < from_ns]
        after = [version for received, _, version in timed if received > dead_ns]
        if after:
            yield Window(max(before, default=0), min(after), from_ns)


def _clock_differences(
    audited: audit_history.AuditHistory, streams: Iterable[watched_writes.Stream]
) -> list[int]:
    """Return by how much the recorder's clock seems to be ahead of the log's, for each write."""
    known = {
        version: write for writes in audited.writes.values() for version, write in writes.items()
    }
    return [
        seen.ts_ns - answered
        for stream in streams
        for version, seen in stream.seen.items()
        if version in known and (answered := time_of(known[version].answered))
    ]


def time_of(text: str) -> int:
    """Return a time of an audit event in nanoseconds since 1970; 0: it has none."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return 0
    return int(time.timestamp() * 1e6) * 1000
