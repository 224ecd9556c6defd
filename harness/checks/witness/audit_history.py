"""Reads the parts of an audit log, and folds its events into writes, and these into holds.

The parts are plain or compressed, rotated, cut short, with foreign lines. A damaged part raises no
error: what can be read is read, and the damage is noted. The fold shares nothing with
`hold_history`, which folds the watch: the two must come to the same.

Our API server's log has also the versions of claims that programs were sent, at times of the run's
clock.
"""

import collections
import functools
import gzip
import io
import itertools
import operator
import pathlib
import re
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from harness import errors
from harness.checks.witness import audit_events, witnessed_writes
from harness.history import files, zstd_frames

LINE_MAX = 64 * 2**20
"""Longest accepted line, in bytes: request and response of a few MiB each."""
KEPT_MAX = 5
"""Number of notes about damage that are kept as text."""
_BEGINNING = b'{"kind":"Event"'
"""How an API server begins each line; after a torn line the next one follows in the same line."""
_GZIP = b"\x1f\x8b"
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT")


class AuditReader:
    """Iterates over the events of all parts; the other attributes are complete afterwards."""

    def __init__(self, paths: Sequence[pathlib.Path]) -> None:
        self._paths = sorted(paths, key=_age)
        self.events = 0
        """Number of events that were read."""
        self.size_bytes = 0
        """Number of bytes that were read, uncompressed."""
        self.damaged = 0
        """Number of damaged lines and parts."""
        self.notes: list[str] = []
        """The first of them as text, with file and line."""

    def __iter__(self) -> Iterator[audit_events.Event]:
        for path in self._paths:
            try:
                with files.open_regular(path) as file:
                    yield from self._read(path.name, _plain(file))
            except errors.HistoryError as error:
                self._note(str(error))
            except (OSError, EOFError, zlib.error) as error:
                self._note(f"{path.name}: cannot be read to its end ({error})")

    def _read(self, name: str, file: IO[bytes]) -> Iterator[audit_events.Event]:
        number = 0
        while line := file.readline(LINE_MAX + 1):
            number += 1
            self.size_bytes += len(line)
            if len(line) > LINE_MAX:
                self._note(f"{name}, line {number}: longer than {LINE_MAX} bytes")
                return
            event = self._decode(line, f"{name}, line {number}")
            if event is not None:
                self.events += 1
                yield event

    def _decode(self, line: bytes, where: str) -> audit_events.Event | None:
        try:
            return audit_events.decode(line)
        except audit_events.NoEventError as error:
            if line.strip():
                self._note(f"{where}: {error}")
        begun = line.rfind(_BEGINNING)
        if begun <= 0:
            return None
        try:
            return audit_events.decode(line[begun:])
        except audit_events.NoEventError:
            return None

    def _note(self, text: str) -> None:
        self.damaged += 1
        if len(self.notes) < KEPT_MAX:
            self.notes.append(text)


def _plain(file: io.BufferedReader) -> IO[bytes]:
    begins = file.peek(len(zstd_frames.MAGIC))
    if begins.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    if begins.startswith(zstd_frames.MAGIC):
        return zstd_frames.decompressing(file)
    return file


def _age(path: pathlib.Path) -> tuple[str, bool, str]:
    stem = path.name.partition(".")[0]
    stamp = _STAMP.search(stem)
    return str(path.parent), stamp is None, path.name


# --------------------------------------------------------------------------------- reads
SENT = "flake-hunt/sent"
"""Annotation of our API server: up to which version a list or watch has been sent."""
_LEAVING_OUT = frozenset({"labelSelector", "fieldSelector", "continue"})
"""Parameters of lists and watches that may show some of the claims only."""


Program = tuple[str, str, str]
"""Its User-Agent up to the first space, its user, and whom it impersonates; each may be empty."""


class Sent(NamedTuple):
    """A version up to which a program was sent what it reads."""

    ts_ns: int
    version: int
    verb: str
    """`list` or `watch`"""
    namespace: str
    """Empty: all."""
    is_partial: bool
    """It may lack some of the claims."""


class TimedWrite(NamedTuple):
    """A write of a claim or pod."""

    program: Program
    received_ns: int
    answered_ns: int


class ProgramReads:
    """The reads of claims by all programs but our own, which tell their steps, and all writes."""

    def __init__(self) -> None:
        self.writes: dict[int, TimedWrite] = {}
        """Version that was written -> its write."""
        self._sent: dict[Program, list[Sent]] = collections.defaultdict(list)
        self.lost_ns: list[int] = []
        """Times after which reads may be missing, because the server was killed."""
        self._newest_ns = 0

    def add(self, event: audit_events.Event) -> None:
        notes, (_, now_ns) = event.annotations or {}, _moments(event)
        self._newest_ns = max(self._newest_ns, now_ns)
        if audit_events.RESTORED in notes:
            self.lost_ns.append(self._newest_ns)
        version = notes.get(SENT, "")
        if version.isdecimal() and now_ns and event.objectRef is not None:
            query = dict(urllib.parse.parse_qsl(event.requestURI.partition("?")[2]))
            is_page = query.get("limit", "0") != "0" and query.get("resourceVersion") != "0"
            is_past = query.get("resourceVersionMatch") == "Exact"
            is_selected = not _LEAVING_OUT.isdisjoint(query) or bool(event.objectRef.name)
            is_partial = is_page or is_past or is_selected
            sent = Sent(
                now_ns, int(version[:20]), event.verb, event.objectRef.namespace, is_partial
            )
            self._sent[_program(event)].append(sent)

    def note_write(self, event: audit_events.Event, version: int) -> None:
        """Note who has written a version, if the event tells when."""
        received_ns, answered_ns = _moments(event)
        if answered_ns:
            self.writes.setdefault(version, TimedWrite(_program(event), received_ns, answered_ns))

    def before(self, program: Program, ts_ns: int, *, namespace: str) -> list[Sent]:
        """Return what a program had been sent of the claims of a namespace, in order."""
        sent = self._sent.get(program, ())
        return [item for item in sent if item.ts_ns <= ts_ns and item.namespace in ("", namespace)]


def _moments(event: audit_events.Event) -> tuple[int, int]:
    """Return when the request was received and answered; 0: the event does not tell it."""
    words = (event.annotations or {}).get(audit_events.MOMENTS, "").split()
    is_told = len(words) == 2 and all(word.isdecimal() and len(word) < 19 for word in words)
    return (int(words[0]), int(words[1])) if is_told else (0, 0)


def _program(event: audit_events.Event) -> Program:
    user, client = event.user, event.impersonatedUser
    name = event.userAgent.partition(" ")[0]
    return name, user.username if user else "", client.username if client else ""


CLAIMS = "resourceclaims"


# ------------------------------------------------------------------------------ the fold
class Hold(NamedTuple):
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
        self.writes: dict[str, dict[int, witnessed_writes.Write]] = {
            name: {} for _, name in witnessed_writes.RESOURCES
        }
        """resource -> revision -> the write."""
        self.hidden: list[audit_events.Hidden] = []
        self.unclear: list[audit_events.Unclear] = []
        self.contradictions: list[tuple[witnessed_writes.Write, witnessed_writes.Write]] = []
        """Two writes of one revision that differ; the first is kept."""
        self.authors: dict[int, Author] = {}
        """revision -> who has created or changed the object; deletions are left out."""
        self.binders: dict[tuple[str, str], Author] = {}
        """Namespace and name of a pod -> who has bound it last."""
        self.reads = ProgramReads()
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

    def _forget_after(self, version: int) -> None:
        """Forget later versions: they were never committed, and are given again."""
        known: Sequence[dict[int, Any]]
        known = *self.writes.values(), self.authors, self.reads.writes
        for found in known:
            for later in [number for number in found if number > version]:
                del found[later]

    def _note_author(self, event: audit_events.Event, fact: audit_events.Fact) -> None:
        author = _author(event.userAgent, event.user.username if event.user else "")
        if isinstance(fact, witnessed_writes.Write) and event.verb != "delete":
            self.authors.setdefault(fact.state.version, author)
            self.reads.note_write(event, fact.state.version)
        elif isinstance(fact, audit_events.Hidden) and fact.kind == "bound":
            self.binders[fact.namespace, fact.name] = author

    def _add(self, fact: audit_events.Fact) -> None:
        match fact:
            case witnessed_writes.Write() if fact.state.namespace == self._namespace:
                self._add_write(fact)
            case audit_events.Hidden() if fact.namespace == self._namespace:
                self.hidden.append(fact)
            case audit_events.Unclear() if fact.namespace == self._namespace:
                self.unclear.append(fact)

    def _add_write(self, write: witnessed_writes.Write) -> None:
        """Keep a write; what changed nothing is answered with an earlier revision, again."""
        writes = self.writes[write.resource]
        first = writes.setdefault(write.state.version, write)
        if first.may_be_none(write.state):
            writes[write.state.version] = write
        elif first is not write and differ(first, write) and not write.may_be_none(first.state):
            self.contradictions.append((first, write))

    def drop_unwritten(self, resource: str, state: witnessed_writes.State) -> None:
        """Drop the write of an observed revision if its answer shows that it wrote nothing."""
        write = self.writes[resource].get(state.version)
        if write is not None and write.may_be_none(state):
            del self.writes[resource][state.version]

    def adopt(self, resource: str, state: witnessed_writes.State, *, is_deletion: bool) -> None:
        write = witnessed_writes.Write(resource, state, is_deletion)
        self.writes[resource].setdefault(state.version, write)

    # --------------------------------------------------------------------------- holds

    def holds(self) -> list[Hold]:
        ended = {item.uid for item in self.hidden if item.kind in ("gone", "collected")}
        key = operator.attrgetter("state.uid", "state.version")
        writes = sorted(self.writes[CLAIMS].values(), key=key)
        found: list[Hold] = []
        for uid, mine in itertools.groupby(writes, key=operator.attrgetter("state.uid")):
            found += _holds_of(uid, list(mine), is_ended=uid in ended)
        return sorted(found)


def differ(one: witnessed_writes.Write, two: witnessed_writes.Write) -> bool:
    return (
        one.state.uid != two.state.uid
        or one.is_deletion != two.is_deletion
        or bool(one.state.differing(two.state))
    )


def _holds_of(uid: str, writes: list[witnessed_writes.Write], *, is_ended: bool) -> Iterator[Hold]:
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
    folded = AuditHistory(namespace)
    for event in events:
        folded.add(event)
    return folded
