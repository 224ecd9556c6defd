"""The versions of claims that programs were sent, and their writes, by our API server's log.

Times are those of the run's clock.
"""

import collections
import urllib.parse
from typing import NamedTuple

from harness.checks.witness import audit_events

_SENT = "flake-hunt/sent"
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


class Write(NamedTuple):
    """A write of a claim or pod."""

    program: Program
    received_ns: int
    answered_ns: int


class ProgramReads:
    """The reads of claims by all programs but our own, which tell their steps, and all writes."""

    def __init__(self) -> None:
        self.writes: dict[int, Write] = {}
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
        if (version := notes.get(_SENT, "")).isdecimal() and event.objectRef is not None:
            query = dict(urllib.parse.parse_qsl(event.requestURI.partition("?")[2]))
            is_page = query.get("limit", "0") != "0" and query.get("resourceVersion") != "0"
            is_past = query.get("resourceVersionMatch") == "Exact"
            is_selected = not _LEAVING_OUT.isdisjoint(query) or bool(event.objectRef.name)
            is_partial = is_page or is_past or is_selected
            sent = Sent(now_ns, int(version), event.verb, event.objectRef.namespace, is_partial)
            self._sent[_program(event)].append(sent)

    def note_write(self, event: audit_events.Event, version: int) -> None:
        """Note who has written a version, if the event tells when."""
        received_ns, answered_ns = _moments(event)
        if answered_ns:
            self.writes.setdefault(version, Write(_program(event), received_ns, answered_ns))

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
