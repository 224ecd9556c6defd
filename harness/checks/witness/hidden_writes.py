"""Observations that only a write without a revision in the log, or without an event, explains.

A binding is answered with a Status; the update that removes the last finalizer with the object as
it was sent, though it removes it; a deleted collection with the objects as they were; and a pod
that is deleted at once is first written with a grace period of zero. A request without an answer
may have been committed once.

Writes that were committed as the API server was killed could not be logged any more. A kill bounds
them: they come after all that was answered well before it, and before all that was asked of the
server that was started afterwards. A write elsewhere must be in the log.
"""

import collections
import datetime
import statistics
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.checks.witness import audit_events, audit_history, witnessed_writes

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


def is_within(windows: Sequence[Window], seen: witnessed_writes.Seen) -> bool:
    return any(
        window.after < seen.version < window.before and seen.ts_ns >= window.from_ns
        for window in windows
    )


def kill_windows(
    audited: audit_history.AuditHistory,
    streams: Iterable[witnessed_writes.Stream],
    ends: Sequence[End],
) -> dict[str, list[Window]]:
    if not ends or audited.is_restored:
        return {}
    created = {
        version: write
        for writes in audited.writes.values()
        for version, write in writes.items()
        if write.is_creation
    }
    # By how much the recorder's clock seems to be ahead of the log's, for each write that surely
    # was one.
    differences = [
        seen.ts_ns - answered
        for stream in streams
        for version, seen in stream.seen.items()
        if version in created and (answered := time_of(created[version].answered))
    ]
    return {
        resource: list(_windows(list(writes.values()), ends, differences))
        for resource, writes in audited.writes.items()
        if differences
    }


def _windows(
    writes: Sequence[witnessed_writes.Write], ends: Sequence[End], differences: Sequence[int]
) -> Iterator[Window]:
    usual, least = int(statistics.median(differences)), min(differences)
    timed = [
        (received + least, answered + usual, write)
        for write in writes
        if (received := time_of(write.received)) and (answered := time_of(write.answered))
    ]
    for alive_ns, dead_ns in ends:
        from_ns = alive_ns - IN_FLIGHT_NS
        before = [write.state.version for _, answered, write in timed if answered < from_ns]
        after = _surely_written(write for received, _, write in timed if received > dead_ns)
        if after:
            yield Window(max(before, default=0), min(after), from_ns)


def _surely_written(asked: Iterable[witnessed_writes.Write]) -> list[int]:
    """Return the revisions that were surely written by one of these requests.

    A request that changes nothing, such as a second deletion, is answered with the revision that
    the object has already. After a kill, that revision may be older than the kill.
    """
    found: set[str] = set()
    surely = []
    for write in sorted(asked, key=lambda write: write.state.version):
        if write.is_creation or write.state.uid in found:
            surely.append(write.state.version)
        found.add(write.state.uid)
    return surely


def time_of(text: str) -> int:
    """Return a time of an audit event in nanoseconds since 1970; 0: it has none."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return 0
    return int(time.timestamp() * 1e6) * 1000


# ------------------------------------------------------------- writes without a revision
_NAMES = {"resourceclaims": "claim", "pods": "pod"}
_DELETING = ("gone", "collected", "evicted")
_MARKING = ("collected", "evicted")
_CHANGES = ("MODIFIED", "LISTED")
"""Types of observations that show what changed; `LISTED`: in a gap."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Two different statements of the witnesses about one object."""

    what: str
    """`claim <namespace>/<name>`"""
    version: int = 0
    """The revision; 0: there is none."""
    watch: str
    """The watch's side, as a predicate: `saw nothing`."""
    audit: str
    """The audit log's side, as a predicate: `has its deletion`."""
    is_disputed: bool = False
    """True if both witnesses have a state of the object."""

    @property
    def text(self) -> str:
        at = f" at revision {self.version}" if self.version else ""
        return f"{self.what}{at}: the watch {self.watch}, the audit log {self.audit}"


class Explanations:
    """The writes without a revision of one resource; a binding explains one observation only.

    The observations must come in the order of their revisions.
    """

    def __init__(
        self, resource: str, audited: audit_history.AuditHistory, stream: witnessed_writes.Stream
    ) -> None:
        self._stream = stream
        hidden = [item for item in audited.hidden if item.resource == resource]
        self._bindings = _by_object(item for item in hidden if item.kind == "bound")
        self._endings = _by_object(item for item in hidden if item.kind in _DELETING)
        self._evictions = _by_object(item for item in hidden if item.kind == "evicted")
        writes = audited.writes[resource].values()
        self._deleted = {write.state.uid for write in writes if write.is_deletion}
        self._unclear: dict[tuple[str, str], list[audit_events.Unclear]] = collections.defaultdict(
            list
        )
        """Namespace and name, empty for a generated one -> requests that may have written."""
        for item in audited.unclear:
            if item.resource == resource:
                self._unclear[item.namespace, item.name].append(item)
        self._last = {seen.state.uid: seen for seen in stream.listed}
        """uid -> the last observation so far."""
        self._skipped: list[Difference] = []
        self.attempted: list[witnessed_writes.Seen] = []
        """Observations that only a request without an answer explains."""

    def confirmed(self, seen: witnessed_writes.Seen) -> None:
        """Note an observation whose revision has a write in the audit log.

        It may be a binding all the same: a write that changed nothing, such as a second attempt, is
        answered with the pod as it is.
        """
        before = self._last.get(seen.state.uid)
        if before is not None and seen.type == "MODIFIED" and _binds(before, seen):
            binding = _take(self._bindings, seen, node=seen.state.node)
            if binding is not None and before.state.rest != seen.state.rest:
                watch = f"saw no binding, but it without a node at revision {before.version} and "
                watch += f"on node {seen.state.node} at {seen.version}"
                audit = f"has its binding to node {binding.node}"
                self._skipped.append(difference(binding.resource, binding, watch, audit))
        self._last[seen.state.uid] = seen

    def objection(self, seen: witnessed_writes.Seen) -> str:
        """Return what the log has if no write without a revision explains this; "": nothing."""
        before = self._last.get(seen.state.uid)
        self._last[seen.state.uid] = seen
        if self._is_explained(before, seen):
            if seen.is_deletion and not any(item.is_certain for item in _of(self._endings, seen)):
                self.attempted.append(seen)
            return ""
        if self._is_attempted(before, seen):
            self.attempted.append(seen)
            return ""
        for item in self._unclear_of(seen):
            return f"has only a request that {item.reason}"
        return "has no such write"

    def unseen(self) -> Iterator[Difference]:
        """Yield what the watch must have seen, and did not; call after all observations."""
        yield from self._skipped
        if self._stream.final_rv is None:
            return
        for uid, last in self._last.items():
            endings = self._endings.get(uid, ())
            gone = next((item for item in endings if item.kind == "gone"), None)
            is_in_gap = any(after >= last.version for after, _ in self._stream.gaps)
            if gone and not last.is_deletion and uid not in self._stream.final and not is_in_gap:
                watch = "saw neither its end nor the object in the final list"
                audit = f"has its end after revision {gone.after}"
                yield difference(gone.resource, gone, watch, audit)

    def _unclear_of(self, seen: witnessed_writes.Seen) -> list[audit_events.Unclear]:
        place = seen.state.namespace, seen.state.name
        return self._unclear.get(place, []) + self._unclear.get((place[0], ""), [])

    def _is_attempted(
        self, before: witnessed_writes.Seen | None, seen: witnessed_writes.Seen
    ) -> bool:
        """Return whether a request without an answer may explain this; each explains one."""
        state = before.state if before else None
        for item in self._unclear_of(seen):
            if not item.is_spent and item.explains(state, seen.state, is_deletion=seen.is_deletion):
                item.is_spent = True
                return True
        return False

    def _is_explained(
        self, before: witnessed_writes.Seen | None, seen: witnessed_writes.Seen
    ) -> bool:
        endings = _of(self._endings, seen)
        if seen.is_deletion:
            return bool(endings)
        if seen.type not in _CHANGES:
            return False
        if _binds(before, seen):
            return _take(self._bindings, seen, node=seen.state.node) is not None
        if before is None or seen.state.held != before.state.held:
            return False
        if seen.state.node != before.state.node:
            return False
        if seen.state.is_over:
            return bool(endings) or seen.state.uid in self._deleted
        if seen.state.is_marked and not before.state.is_marked:
            return any(item.kind in _MARKING for item in endings)
        return _take(self._evictions, seen) is not None


def titled(resource: str, item: witnessed_writes.State | audit_events.Hidden) -> str:
    return f"{_NAMES[resource]} {item.namespace}/{item.name}"


def difference(
    resource: str, item: witnessed_writes.State | audit_events.Hidden, watch: str, audit: str
) -> Difference:
    """Return a difference about an object, at its version if it is known."""
    version = item.version if isinstance(item, witnessed_writes.State) else 0
    return Difference(what=titled(resource, item), version=version, watch=watch, audit=audit)


_ByObject = dict[str, list[audit_events.Hidden]]
"""Writes by the uid of their object, or by its namespace and name if the uid is missing."""


def _by_object(hidden: Iterable[audit_events.Hidden]) -> _ByObject:
    found: _ByObject = collections.defaultdict(list)
    for item in hidden:
        found[item.uid or f"{item.namespace}/{item.name}"].append(item)
    return found


def _of(hidden: _ByObject, seen: witnessed_writes.Seen) -> list[audit_events.Hidden]:
    place = f"{seen.state.namespace}/{seen.state.name}"
    return [*hidden.get(seen.state.uid, ()), *hidden.get(place, ())]


def _take(
    hidden: _ByObject, seen: witnessed_writes.Seen, *, node: str = ""
) -> audit_events.Hidden | None:
    item = next((item for item in _of(hidden, seen) if item.node == node), None)
    if item is not None:
        hidden[item.uid or f"{item.namespace}/{item.name}"].remove(item)
    return item


def _binds(before: witnessed_writes.Seen | None, seen: witnessed_writes.Seen) -> bool:
    """Return whether a pod has got its node, perhaps in a gap in which it was created."""
    if before is None:
        return bool(seen.state.node) and seen.type == "LISTED"
    return bool(seen.state.node) and not before.state.node
