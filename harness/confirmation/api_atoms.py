"""The events of a run that can be put into an order from outside, each with a name of its own.

The name of an atom is the same in every run of a world, whatever the order of the others: it says
which of several alike it is.
"""

import collections
from collections.abc import Iterable
from typing import Literal

import msgspec

from harness.apiserver.storage import watch_cache
from harness.explore.worlds import api_events

Kind = Literal[
    "request",  # a request is carried out, or lost
    "arrival",  # a request whose sender has stopped waiting is carried out
    "answer",  # the sender of a request goes on with its answer
    "event",  # a client has an event
    "end-watch",  # the watch of a client ends instead of an event
    "process",  # a process is stopped or started
    "change",  # a user changes an object
    "rest",  # for some time nothing is held back that is not held already
]
Key = tuple[str | int, ...]
"""The name of an atom."""
Changes = tuple[tuple[str, int], ...]
"""Changed objects, as RESOURCE/NAME with the number of their change."""
READING = frozenset({"get", "list", "watch"})
LATE_TASK = "late-request"
"""First word of the names of tasks in which late requests are carried out."""


class Atom(msgspec.Struct, frozen=True, kw_only=True):
    """One event in the order of a run."""

    kind: Kind
    key: Key
    event: api_events.ApiEvent
    fault: str = ""
    """The fault that happened to a request or to a watch; empty: none."""
    changes: Changes = ()
    """The objects that it changed, as RESOURCE/NAME with the number of their change; for `event`
    and `end-watch` the one change that the client hears of, or does not."""

    @property
    def is_free(self) -> bool:
        """True if nothing can hold it: the world itself does it at once."""
        return self.kind == "change"


REST_S = 1.0
"""Virtual time of a rest, in seconds."""


def rest(number: int) -> Atom:
    """Return a rest; `number` tells it from the others of an order."""
    event = api_events.ApiEvent(kind="begins", client=api_events.USER)
    return Atom(kind="rest", key=("rest", number), event=event)


class Naming:
    """Gives names to the events of a run, one after the other."""

    def __init__(self) -> None:
        self._counts: collections.Counter[Key] = collections.Counter()
        self._changes: collections.Counter[str] = collections.Counter()
        self._numbers: dict[tuple[str, int], int] = {}
        """Number of the change by resource/name and version."""
        self.requests: dict[str, Key] = {}
        """The request of each task that has sent one which is not answered."""
        self.answered: dict[str, Key] = {}
        """The request of each task that has its answer and has not gone on."""
        self.late: dict[str, Key] = {}
        """The request of each task that carries out a late one."""
        self._touched: set[str] = set()
        """The tasks whose request was preceded by the change of another client."""
        self._has_begun = False
        self._late_count = 0

    def atom(self, event: api_events.ApiEvent) -> Atom | None:
        """Return the atom that an event is; None: it is none."""
        if event.kind != "answered" and self.answered.pop(event.task, ()):
            self._touched.discard(event.task)
        changes = self._changed(event)
        if event.kind == "begins":
            self._has_begun = True
        made = self._made(event, changes)
        return made if self._has_begun else None

    def key_of_event(self, client: str, change: tuple[str, int]) -> Key:
        """Return the name of the delivery of a change to a client."""
        return ("event", client, *change)

    def undelivered(self, awaits: api_events.ApiEvent, commit: watch_cache.Commit) -> Atom:
        """Return the delivery of a commit that a client still waits for."""
        change = self.change_in(commit)
        event = msgspec.structs.replace(awaits, kind="delivered", commits=(commit,))
        key = self.key_of_event(awaits.client, change)
        return Atom(kind="event", key=key, event=event, changes=(change,))

    def change_in(self, commit: watch_cache.Commit) -> tuple[str, int]:
        """Return the changed object with the number of the change; 0: before all others."""
        target = f"{commit.resource.plural}/{commit.object.name}"
        return target, self._numbers.get((target, commit.object.resource_version), 0)

    def _changed(self, event: api_events.ApiEvent) -> Changes:
        if event.kind != "committed":
            return tuple(self.change_in(item) for item in event.commits)
        return tuple(
            self._count_change(
                f"{item.resource.plural}/{item.object.name}", item.object.resource_version
            )
            for item in event.commits
        )

    def _count_change(self, target: str, version: int) -> tuple[str, int]:
        self._changes[target] += 1
        self._numbers[target, version] = self._changes[target]
        return target, self._changes[target]

    def _made(self, event: api_events.ApiEvent, changes: Changes) -> Atom | None:
        match event.kind:
            case "sent":
                self.requests[event.task] = self._next("request", event)
            case "answered" if event.task in self.requests:
                self.answered[event.task] = self.requests.pop(event.task)
            case "committed":
                return self._committed(event, changes)
            case "lost-answer" | "lost-request" | "late-request":
                return self._unanswered(event)
            case "delivered" | "ended-watch":
                return self._of_watch(event, changes)
            case "stopped" | "started":
                return Atom(kind="process", key=self._next("process", event), event=event)
        return None

    def _committed(self, event: api_events.ApiEvent, changes: Changes) -> Atom:
        if event.task in self.late:
            key = _other("arrival", self.late.pop(event.task))
            return Atom(kind="arrival", key=key, event=event, changes=changes)
        if self._is_own(event):
            return self._carried_out(event, changes)
        if event.task in self.requests and event.client == api_events.USER:
            self._touched.add(event.task)
        return Atom(kind="change", key=self._next("change", event), event=event, changes=changes)

    def _of_watch(self, event: api_events.ApiEvent, changes: Changes) -> Atom:
        if event.kind == "delivered":
            key = self.key_of_event(event.client, changes[0])
            return Atom(kind="event", key=key, event=event, changes=changes)
        key = ("end-watch", event.client, *changes[0])
        return Atom(kind="end-watch", key=key, event=event, fault=event.faults[0], changes=changes)

    def _is_own(self, event: api_events.ApiEvent) -> bool:
        """Return whether it is the request of the task that is carried out."""
        key = self.requests.get(event.task)
        return key is not None and key[1:4] == (event.client, event.verb, event.of)

    def _carried_out(self, event: api_events.ApiEvent, changes: Changes) -> Atom:
        fault = "touch-objects" if event.task in self._touched else "".join(event.faults)
        key = self.requests[event.task]
        return Atom(kind="request", key=key, event=event, fault=fault, changes=changes)

    def _unanswered(self, event: api_events.ApiEvent) -> Atom | None:
        key = self.requests.pop(event.task)
        if event.kind == "late-request":
            self._late_count += 1
            number = f" ({self._late_count})" if self._late_count > 1 else ""
            self.late[f"{LATE_TASK}{number}"] = key
        return Atom(kind="request", key=key, event=event, fault=FAULTS[event.kind])

    def _next(self, kind: Kind, event: api_events.ApiEvent) -> Key:
        base: Key = (kind, event.client, event.verb or event.kind, event.of)
        self._counts[base] += 1
        return (*base, self._counts[base])


FAULTS = {
    "lost-answer": "lose-response",
    "lost-request": "lose-request",
    "late-request": "delay-request",
}


def _other(kind: Kind, key: Key) -> Key:
    """Return the name of something else that happens to a request."""
    return (kind, *key[1:])


def answer_key(key: Key) -> Key:
    """Return the name of the moment when the sender of a request goes on with its answer."""
    return _other("answer", key)


class _Course:
    """The atoms of a run, each as late as the run allows.

    A client that has an event, or an answer, may be interrupted before it looks at it. So either
    counts at the moment when the task that has it does the next thing that is an event.
    """

    def __init__(self, *, with_answers: bool) -> None:
        self._with_answers = with_answers
        self._naming = Naming()
        self._found: dict[Key, Atom] = {}
        self._open: dict[str, list[Atom]] = {}
        """The atoms that each task has received and not looked at."""
        self._awaiting: dict[str, api_events.ApiEvent] = {}
        self._sent: dict[str, api_events.ApiEvent] = {}
        self._has_begun = False

    def add(self, event: api_events.ApiEvent) -> None:
        """Add an event of the run."""
        self._look(event.task)
        self._has_begun = self._has_begun or event.kind == "begins"
        atom = self._naming.atom(event)
        if event.kind == "awaits":
            self._awaiting[event.task] = event
        elif event.kind in ("delivered", "ended-watch"):
            self._awaiting.pop(event.task, None)
        if event.kind == "sent":
            self._sent[event.task] = event
        if event.kind == "answered" and self._with_answers and self._has_begun:
            self._receive_answer(event)
        if atom is None or _is_idle(atom):
            return
        if atom.kind == "event":
            self._open.setdefault(event.task, []).append(atom)
        else:
            self._put(atom)

    def _receive_answer(self, event: api_events.ApiEvent) -> None:
        key = answer_key(self._naming.answered[event.task])
        atom = Atom(kind="answer", key=key, event=event)
        if not _is_idle(atom):
            self._open.setdefault(event.task, []).append(atom)

    def _look(self, task: str) -> None:
        for atom in self._open.pop(task, ()):
            self._put(atom)

    def _put(self, atom: Atom) -> None:
        before = self._found.pop(atom.key, None)
        changes = atom.changes or (before.changes if before else ())
        self._found[atom.key] = msgspec.structs.replace(atom, changes=changes)

    def atoms(self) -> list[Atom]:
        """Return all atoms; those that had not happened when the run ended are the last ones."""
        for task in list(self._open):
            self._look(task)
        for task, key in self._naming.requests.items():
            atom = Atom(kind="request", key=key, event=self._sent[task])
            if not _is_idle(atom):
                self._put(atom)
        for event in self._awaiting.values():
            commit = event.next_commit() if event.next_commit is not None else None
            if commit is not None:
                self._put(self._naming.undelivered(event, commit))
        return list(self._found.values())


def of_run(events: Iterable[api_events.ApiEvent], *, with_answers: bool = False) -> list[Atom]:
    """Return the atoms of a recorded run, in order; a request with a fault is one atom.

    `with_answers`: also the moments when senders of requests look at their answers.
    """
    course = _Course(with_answers=with_answers)
    for event in events:
        course.add(event)
    return course.atoms()


def _is_idle(atom: Atom) -> bool:
    """Return whether no one waits for it: a user's reading, a report, or a lease."""
    is_reading = atom.event.client == api_events.USER and atom.event.verb in READING
    return is_reading or atom.event.of.partition("/")[0] in ("events", "leases")
