"""Observations that only a write without a revision in its answer can explain.

A binding is answered with a Status; the update that removes the last finalizer with the object as
it was sent, though it removes it; a deleted collection with the objects as they were; and a pod
that is deleted at once is first written with a grace period of zero. Such a write changes some
pieces of the object only; the others must stay as they were. A write of a
request without an answer is compared with the object in the request.
"""

import collections
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from harness.checks.witness import (
    attempted_writes,
    audit_events,
    audit_history,
    object_states,
    watched_writes,
)

_DELETING = ("gone", "collected", "evicted")
_MARKING = ("collected", "evicted")
_BINDING = "its binding"
_CHANGED: Mapping[str, Collection[int]] = {
    _BINDING: (object_states.MARKS, object_states.PROGRESS),
    "its deletion": (object_states.DELETION,),
    "its eviction": (object_states.PROGRESS,),
}
"""A write as text -> the pieces of the object that it may change."""


class Unseen(msgspec.Struct, frozen=True):
    """A write without a revision that the watch must have seen, and did not."""

    write: audit_events.Hidden
    watch: str
    """The watch's side, as a predicate: `saw nothing`."""
    audit: str
    """The audit log's side, as a predicate: `has its deletion`."""


class Explanations:
    """The writes without a revision of one resource; a binding explains one observation only.

    The observations must come in the order of their revisions.
    """

    def __init__(
        self, resource: str, audited: audit_history.AuditHistory, stream: watched_writes.Stream
    ) -> None:
        self._stream = stream
        hidden = [item for item in audited.hidden if item.resource == resource]
        self._bindings = _by_object(item for item in hidden if item.kind == "bound")
        self._endings = _by_object(item for item in hidden if item.kind in _DELETING)
        self._evictions = _by_object(item for item in hidden if item.kind == "evicted")
        writes = audited.writes[resource].values()
        self._deleted = {write.state.uid for write in writes if write.is_deletion}
        self._unclear = {
            (item.namespace, item.name): item.reason
            for item in audited.unclear
            if item.resource == resource
        }
        self._last = {seen.state.uid: seen for seen in stream.listed}
        """uid -> the last observation so far."""
        self._marked: dict[str, tuple[watched_writes.Seen, watched_writes.Seen]] = {}
        """uid -> the observations before and after a binding that changed labels or annotations."""
        self._skipped: list[Unseen] = []
        self._attempts: dict[tuple[str, str], list[attempted_writes.Attempt]] = (
            collections.defaultdict(list)
        )
        """Namespace and name, empty for a generated one -> requests without an answer."""
        for item in audited.unclear:
            if item.resource == resource and item.attempt is not None:
                self._attempts[item.namespace, item.name].append(item.attempt)
        self.attempted: list[watched_writes.Seen] = []
        """Observations that only a request without an answer explains."""

    def confirmed(self, seen: watched_writes.Seen) -> None:
        """Note an observation whose revision has a write in the audit log."""
        before = self._last.get(seen.state.uid)
        if before is not None and seen.type == "MODIFIED" and _binds(before, seen):
            binding = _take(self._bindings, seen, node=seen.state.node)
            if binding is not None and not _is_binding_alone(before, seen):
                watch = f"saw no binding, but it without a node at revision {before.version} and "
                watch += f"on node {seen.state.node} at {seen.version}"
                self._skipped.append(Unseen(binding, watch, _bound_to(binding)))
        self._follow(seen)

    def disputes(self, seen: watched_writes.Seen) -> tuple[str, bool]:
        """Return what is wrong if no write without a revision explains this; "": nothing.

        And whether there is such a write, but another state than it can leave behind.
        """
        before = self._last.get(seen.state.uid)
        explanation = self._explanation(seen)
        self._follow(seen)
        if not explanation and self._attempt(before, seen):
            self.attempted.append(seen)
            return "", False
        if not explanation:
            return self._lacks(seen), False
        changed = self._changed(explanation, before, seen)
        if changed:
            names = " and ".join(changed)
            return f"has only {explanation}, which does not change its {names} like this", True
        if seen.is_deletion and not any(item.is_certain for item in _of(self._endings, seen)):
            self.attempted.append(seen)
        return "", False

    def _attempt(self, before: watched_writes.Seen | None, seen: watched_writes.Seen) -> bool:
        """Return whether a request without an answer explains this; each explains one."""
        namespace, name = seen.state.namespace, seen.state.name
        for key in ((namespace, name), (namespace, "")):
            for attempt in self._attempts.get(key, ()):
                if attempt.explains(
                    before.content if before else b"", seen.content, is_deletion=seen.is_deletion
                ):
                    self._attempts[key].remove(attempt)
                    return True
        return False

    def _changed(
        self, explanation: str, before: watched_writes.Seen | None, seen: watched_writes.Seen
    ) -> list[str]:
        if before is None or self._stream.gaps or self._stream.gap_rv is not None:
            return []
        if explanation == _BINDING and _marks(before) != _marks(seen):
            self._marked[seen.state.uid] = before, seen
        bases = [before.state]
        if seen.is_deletion:
            sent = (item.state for item in _of(self._endings, seen) if item.state is not None)
            bases = [*sent, *bases]
        found = [seen.state.changed(base, but=_CHANGED[explanation]) for base in bases]
        return min(found, key=len)

    def _follow(self, seen: watched_writes.Seen) -> None:
        """Remember an observation; what a binding added to the metadata stays."""
        uid = seen.state.uid
        self._last[uid] = seen
        before, bound = self._marked.pop(uid, (None, None))
        if before and bound and _marks(seen) == _marks(before):
            watch = f"saw other labels or annotations at revision {bound.version} than before "
            watch += "and after it"
            write = audit_events.Hidden(
                kind="bound",
                resource="pods",
                namespace=seen.state.namespace,
                name=seen.state.name,
            )
            self._skipped.append(Unseen(write, watch, "has only its binding there"))

    def _lacks(self, seen: watched_writes.Seen) -> str:
        namespace = seen.state.namespace
        reason = self._unclear.get((namespace, seen.state.name)) or self._unclear.get(
            (namespace, "")
        )
        return f"has only a request that {reason}" if reason else "has no such write"

    def unseen(self) -> Iterator[Unseen]:
        """Yield what the watch must have seen, and did not; call after all observations."""
        yield from self._skipped
        if self._stream.final_rv is None:
            return
        for uid, last in self._last.items():
            endings = self._endings.get(uid, ())
            gone = next((item for item in endings if item.kind == "gone"), None)
            if gone and not last.is_deletion and uid not in self._stream.final:
                watch = "saw neither its end nor the object in the final list"
                yield Unseen(gone, watch, f"has its end after revision {gone.after}")

    def _explanation(self, seen: watched_writes.Seen) -> str:
        """Return the write that explains an observation, as text; "": there is none."""
        uid, before = seen.state.uid, self._last.get(seen.state.uid)
        endings = _of(self._endings, seen)
        if seen.is_deletion:
            return "its deletion" if endings else ""
        if seen.type != "MODIFIED" or before is None:
            return ""
        if seen.state.is_over:
            return "its deletion" if endings or uid in self._deleted else ""
        if _binds(before, seen):
            return _BINDING if _take(self._bindings, seen, node=seen.state.node) else ""
        if seen.state.is_marked and not before.state.is_marked:
            return "its deletion" if any(item.kind in _MARKING for item in endings) else ""
        return "its eviction" if _take(self._evictions, seen) else ""


_ByObject = dict[str, list[audit_events.Hidden]]
"""Writes by the uid of their object, or by its namespace and name if the uid is missing."""


def _by_object(hidden: Iterable[audit_events.Hidden]) -> _ByObject:
    found: _ByObject = collections.defaultdict(list)
    for item in hidden:
        found[item.uid or f"{item.namespace}/{item.name}"].append(item)
    return found


def _of(hidden: _ByObject, seen: watched_writes.Seen) -> list[audit_events.Hidden]:
    place = audit_history.text_of(seen.state)
    return [*hidden.get(seen.state.uid, ()), *hidden.get(place, ())]


def _take(
    hidden: _ByObject, seen: watched_writes.Seen, *, node: str = ""
) -> audit_events.Hidden | None:
    """Remove and return a write about the observed object, to this node if one is named."""
    for key in (seen.state.uid, audit_history.text_of(seen.state)):
        for item in hidden.get(key, ()):
            if item.node == node:
                hidden[key].remove(item)
                return item
    return None


def _marks(seen: watched_writes.Seen) -> bytes:
    return seen.state.piece(object_states.MARKS)


def _binds(before: watched_writes.Seen, seen: watched_writes.Seen) -> bool:
    return bool(seen.state.node) and not before.state.node


def _is_binding_alone(before: watched_writes.Seen, seen: watched_writes.Seen) -> bool:
    """Return whether a binding alone can lead from one observation to the other.

    It may then be the binding, though the audit log has a write of this revision: one that changed
    nothing, such as a second attempt, is answered with the pod as it is.
    """
    return not seen.state.changed(before.state, but=_CHANGED[_BINDING])


def _bound_to(binding: audit_events.Hidden) -> str:
    return f"has its binding to node {binding.node}"
