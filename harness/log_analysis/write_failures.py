"""Counts what went wrong with writes of claims: conflicts, lost answers, refused connections."""

import collections
import enum
import re
from collections.abc import Iterator

from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.messages import FAILURES, Message

LINES_MAX = 10
"""Lines of each kind that are kept."""
_RECENT_MAX = 1_000
_REPEATED_US = 50_000
"""Time within which lines about the same error are reports of one failure."""


class Kind(enum.StrEnum):
    """A kind of failure."""

    CONFLICT = "write conflict"
    LOST_ANSWER = "lost answer"
    NOT_SENT = "write not sent"
    GATHER_CONFLICT = "gather repeated"
    NOT_ASSUMED = "not in the assume cache"
    REMOVED_TWICE = "in-flight claim removed twice"


_BY_MESSAGE = {
    Message.WRITE_CONFLICT: Kind.CONFLICT,
    Message.GATHER_CONFLICT: Kind.GATHER_CONFLICT,
    Message.LIST_CONFLICT: Kind.GATHER_CONFLICT,
    Message.NOT_ASSUMED: Kind.NOT_ASSUMED,
    Message.REMOVED_TWICE: Kind.REMOVED_TWICE,
}
MESSAGES = frozenset(_BY_MESSAGE) | FAILURES
_WRITE = re.compile(
    r"\b(?:put|patch) \"?[^\s\"]*/namespaces/([^/\s\"]+)/resourceclaims/([^/\s\"?:]+)/status"
    r"|\((?:put|patch) resourceclaims\.resource\.k8s\.io ([^)\s]+)\)",
    re.I,
)
"""A write of a claim's status in the text of an error: with its URL, or as the API server says."""
_REASONS = (
    (Kind.CONFLICT, ("the object has been modified",)),
    (
        Kind.NOT_SENT,
        ("dial tcp", "connection refused", "no route to host", "no such host", "TLS handshake"),
    ),
    (
        Kind.LOST_ANSWER,
        (
            *("context deadline exceeded", "Client.Timeout", "i/o timeout", "request canceled"),
            *("connection reset", "broken pipe", "EOF", "connection lost", "GOAWAY"),
            *("use of closed network connection", "request timed out", "leader changed"),
            *("request did not complete", "unable to return a response in the time allotted"),
            *("no complete response", "no answer came"),
        ),
    ),
)
"""Kinds of failures by the text of the error; a connection that was not made counts first."""


class WriteFailures:
    """The failures in a log, as it was read so far."""

    def __init__(self) -> None:
        self.counts: collections.Counter[Kind] = collections.Counter()
        self.lines: dict[Kind, list[LogRecord]] = {}
        """The first lines of each kind."""
        self._recent: collections.OrderedDict[tuple[Kind, str], int] = collections.OrderedDict()

    def see(self, record: LogRecord) -> tuple[Kind | None, str]:
        """Take in a line with one of `MESSAGES`; return its kind, and the claim of a failed write.

        The claim is empty if the line does not name it, and the kind None if it is another error.
        """
        kind = _BY_MESSAGE.get(record.message)
        if kind is not None:
            self._count(kind, record)
            return kind, record.value("claim")
        text = record.value("err")
        write = _WRITE.search(text)
        kind = _of_error(text[write.end() if write[1] else 0 :]) if write else None
        if write is None or kind is None:
            return None, ""
        if self._is_new(kind, write[0], record):
            self._count(kind, record)
        return kind, _claim(write, record)

    def _count(self, kind: Kind, record: LogRecord) -> None:
        self.counts[kind] += 1
        kept = self.lines.setdefault(kind, [])
        if len(kept) < LINES_MAX:
            kept.append(record)

    def _is_new(self, kind: Kind, write: str, record: LogRecord) -> bool:
        """Return whether no line shortly before was about the same write."""
        before = self._recent.get((kind, write))
        self._recent[kind, write] = record.time_us
        if len(self._recent) > _RECENT_MAX:
            self._recent.popitem(last=False)
        return before is None or abs(record.time_us - before) > _REPEATED_US


def _of_error(text: str) -> Kind | None:
    kinds: Iterator[Kind] = (
        kind for kind, parts in _REASONS if any(part in text for part in parts)
    )
    return next(kinds, None)


def _claim(write: re.Match[str], record: LogRecord) -> str:
    """Return `namespace/name`; the namespace is that of the pod if the error has none."""
    if write[1]:
        return f"{write[1]}/{write[2]}"
    namespace = record.value("pod").partition("/")[0]
    return f"{namespace}/{write[3]}" if namespace else ""
