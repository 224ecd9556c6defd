"""The status writes of claims by schedulers: when each was sent, and what its answer was."""

import dataclasses
from collections.abc import Iterable, Sequence

from harness.checks import verdicts
from harness.history import histories, records
from harness.report.replay import watch_positions

_STATUS = "resourceclaims/status"
_DIGITS_MAX = 18


def _version(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else 0


@dataclasses.dataclass(frozen=True, slots=True)
class StatusWrite:
    """One call that writes the status of a claim."""

    process: str
    user: str
    """The thread that makes it."""
    sent_ns: int
    answered_ns: int | None
    """None: no end of the call is recorded."""
    outcome: str
    """`ok`, `fail`, `unknown`; empty: no end of the call is recorded."""
    status: int | None
    version: int
    """The version that it made, according to its answer; 0: not known."""


_Name = tuple[str, str]
"""Namespace and name of a claim."""


class StatusWrites:
    """The status writes of some claims, from the schedulers' own journals of their calls."""

    def __init__(self) -> None:
        self._of: dict[_Name, list[StatusWrite]] = {}

    def read(self, history: histories.History, found: Iterable[verdicts.DoubleAllocation]) -> None:
        """Read the writes of the claims of double allocations."""
        names = {(item.namespace, item.name) for one in found for item in one.holders}
        processes = history.expected_writes() if names else ()
        for process in filter(watch_positions.is_scheduler, processes):
            self._read(process, history.operations(process) or (), names)

    def _read(self, process: str, calls: Iterable[records.Body], names: set[_Name]) -> None:
        sent: dict[int, records.Invocation] = {}
        for item in calls:
            if isinstance(item, records.Invocation):
                if item.resource == _STATUS and (item.namespace, item.name) in names:
                    sent[item.op] = item
            elif isinstance(item, records.Completion) and item.op in sent:
                self._add(process, sent.pop(item.op), item)
        for call in sent.values():
            self._add(process, call, None)

    def _add(self, process: str, call: records.Invocation, end: records.Completion | None) -> None:
        write = StatusWrite(
            process=process,
            user=call.user,
            sent_ns=call.ts_ns,
            answered_ns=end.ts_ns if end else None,
            outcome=end.outcome if end else "",
            status=end.status if end else None,
            version=_version(end.resource_version if end else ""),
        )
        self._of.setdefault((call.namespace, call.name), []).append(write)

    def of(self, holder: verdicts.Holder) -> Sequence[StatusWrite]:
        """Return the writes of the claim of a holder."""
        return self._of.get((holder.namespace, holder.name), ())
