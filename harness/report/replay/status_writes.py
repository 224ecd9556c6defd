"""The status writes of claims by schedulers: when each was sent, and what its answer was."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

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


Writes = Mapping[tuple[str, str], Sequence[StatusWrite]]
"""Namespace and name of a claim -> the writes of its status."""


def read(history: histories.History, found: Iterable[verdicts.DoubleAllocation]) -> Writes:
    """Return the writes of the claims of double allocations, from the schedulers' journals."""
    writes: dict[tuple[str, str], list[StatusWrite]] = {
        (item.namespace, item.name): [] for one in found for item in one.holders
    }
    processes = history.expected_writes() if writes else ()
    for process in filter(watch_positions.is_scheduler, processes):
        for call, end in _calls(history.operations(process) or ()):
            of_claim = writes.get((call.namespace, call.name))
            if call.resource == _STATUS and of_claim is not None:
                of_claim.append(_write(process, call, end))
    return writes


def _calls(
    journal: Iterable[records.Body],
) -> Iterator[tuple[records.Invocation, records.Completion | None]]:
    """Yield each call with its end; None: none is recorded."""
    sent: dict[int, records.Invocation] = {}
    for item in journal:
        if isinstance(item, records.Invocation):
            sent[item.op] = item
        elif isinstance(item, records.Completion) and item.op in sent:
            yield sent.pop(item.op), item
    yield from ((call, None) for call in sent.values())


def _write(process: str, call: records.Invocation, end: records.Completion | None) -> StatusWrite:
    return StatusWrite(
        process=process,
        user=call.user,
        sent_ns=call.ts_ns,
        answered_ns=end.ts_ns if end else None,
        outcome=end.outcome if end else "",
        status=end.status if end else None,
        version=_version(end.resource_version if end else ""),
    )
