"""Folds audit events into the writes of claims and pods, and these into holds.

It shares nothing with `hold_history`, which folds the watch: the two must come to the same.
"""

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from harness.checks.witness import audit_events, object_states, program_reads

CLAIMS = "resourceclaims"


class Hold(msgspec.Struct, frozen=True, order=True):
    """The interval of revisions in which a claim's allocation named a device."""

    uid: str
    device: str
    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end."""
    is_end_known: bool = True
    """False if the claim ended at an unknown revision after `until_rv`."""


class Author(NamedTuple):
    """The program and the user that have written something."""

    agent: str
    """User-Agent of the request."""
    user: str


@functools.lru_cache(4096)
def _author(agent: str, user: str) -> Author:
    return Author(agent, user)


class AuditHistory:
    """The claims and pods of one namespace, by an audit log."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self.writes: dict[str, dict[int, object_states.Write]] = {
            name: {} for _, name in object_states.RESOURCES
        }
        """resource -> revision -> the write."""
        self.hidden: list[audit_events.Hidden] = []
        self.unclear: list[audit_events.Unclear] = []
        self.contradictions: list[tuple[object_states.Write, object_states.Write]] = []
        """Two writes of one revision that differ; the first is kept."""
        self.authors: dict[int, Author] = {}
        """revision -> who has created or changed the object; deletions are left out."""
        self.binders: dict[tuple[str, str], Author] = {}
        """Namespace and name of a pod -> who has bound it last."""
        self.reads = program_reads.ProgramReads()
        self.is_restored = False
        """True if the server says what it had committed when it was killed."""

    def add(self, event: audit_events.Event) -> None:
        """Fold one event; the order of the events of one server matters only at its restart."""
        restored = (event.annotations or {}).get(audit_events.RESTORED, "")
        if restored.isdecimal():
            self.is_restored = True
            self._forget_after(int(restored[:20]))
        self.reads.add(event)
        for fact in audit_events.facts(event):
            self._add(fact)
            self._note_author(event, fact)

    def _note_author(self, event: audit_events.Event, fact: audit_events.Fact) -> None:
        author = _author(event.userAgent, event.user.username if event.user else "")
        if isinstance(fact, object_states.Write) and event.verb != "delete":
            self.authors.setdefault(fact.state.version, author)
            self.reads.note_write(event, fact.state.version)
        elif isinstance(fact, audit_events.Hidden) and fact.kind == "bound":
            self.binders[fact.namespace, fact.name] = author

    def _add(self, fact: audit_events.Fact) -> None:
        match fact:
            case object_states.Write() if fact.state.namespace == self._namespace:
                self._add_write(fact)
            case audit_events.Hidden() if fact.namespace == self._namespace:
                self.hidden.append(fact)
            case audit_events.Unclear() if fact.namespace == self._namespace:
                self.unclear.append(fact)

    def _add_write(self, write: object_states.Write) -> None:
        """Keep a write; what changed nothing is answered with an earlier revision, again."""
        writes = self.writes[write.resource]
        first = writes.setdefault(write.state.version, write)
        if first.may_be_none(write.state):
            writes[write.state.version] = write
        elif first is not write and differ(first, write) and not write.may_be_none(first.state):
            self.contradictions.append((first, write))

    def drop_unwritten(self, resource: str, state: object_states.State) -> None:
        """Drop the write of an observed revision if its answer shows that it wrote nothing."""
        write = self.writes[resource].get(state.version)
        if write is not None and write.may_be_none(state):
            del self.writes[resource][state.version]

    def adopt(self, resource: str, state: object_states.State, *, is_deletion: bool) -> None:
        write = object_states.Write(resource, state, is_deletion)
        self.writes[resource].setdefault(state.version, write)

    def _forget_after(self, version: int) -> None:
        for writes in self.writes.values():
            for later in [known for known in writes if known > version]:
                del writes[later]

    # --------------------------------------------------------------------------- holds

    def holds(self) -> list[Hold]:
        """Return all holds, sorted by claim, device and begin."""
        ended = {item.uid for item in self.hidden if item.kind in ("gone", "collected")}
        key = operator.attrgetter("state.uid", "state.version")
        writes = sorted(self.writes[CLAIMS].values(), key=key)
        found: list[Hold] = []
        for uid, mine in itertools.groupby(writes, key=operator.attrgetter("state.uid")):
            found += _holds_of(uid, list(mine), is_ended=uid in ended)
        return sorted(found)


def differ(one: object_states.Write, two: object_states.Write) -> bool:
    """Return whether two writes of one revision contradict each other."""
    return (
        one.state.uid != two.state.uid
        or one.is_deletion != two.is_deletion
        or bool(one.state.differing(two.state))
    )


def _holds_of(uid: str, writes: list[object_states.Write], *, is_ended: bool) -> Iterator[Hold]:
    begun: dict[str, int] = {}
    for write in writes:
        held = () if write.is_deletion else write.state.held
        version = write.state.version
        for device in [name for name in begun if name not in held]:
            yield Hold(uid, device, begun.pop(device), version)
        for device in held:
            begun.setdefault(device, version)
    last = writes[-1].state.version
    for device, from_rv in begun.items():
        yield Hold(uid, device, from_rv, last if is_ended else None, is_end_known=not is_ended)


def fold(events: Iterable[audit_events.Event], *, namespace: str) -> AuditHistory:
    """Return the history of all events about one namespace."""
    folded = AuditHistory(namespace)
    for event in events:
        folded.add(event)
    return folded
