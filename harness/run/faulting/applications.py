"""Reads the applications of faults from a carrier and journals each of them once."""

from collections.abc import Mapping

from harness import errors
from harness.faults import injection
from harness.history import records
from harness.run.faulting import carriers, fault_journal


class ApplicationReader:
    """Follows a carrier's record of applications. Not thread-safe."""

    def __init__(
        self,
        carrier: carriers.Carrier,
        journal: fault_journal.FaultJournal,
        *,
        kinds: Mapping[str, str],
        after: int,
    ) -> None:
        """`kinds` of the faults by their names; `after`: the last application before the run."""
        self._carrier, self._journal, self._kinds = carrier, journal, kinds
        self._after = after
        """Sequence number up to which all applications are journaled."""
        self._lasting: set[int] = set()
        """Applications that were counted, but had not ended."""
        self._written: set[int] = set()
        """Applications after `_after` that are journaled."""

    @property
    def lasting(self) -> int:
        """The number of applications that had not ended at the last reading."""
        return len(self._lasting)

    def read(self, *, is_last: bool = False) -> None:
        """Count new applications and journal those that have ended; `is_last`: all of them.

        Raises FaultError if the carrier does not answer, or has dropped some.
        """
        items = self._carrier.applied(self._after)
        if items and items[0].sequence > self._after + 1:
            raise errors.FaultError(
                f"the carrier has dropped {items[0].sequence - self._after - 1} applications"
            )
        for item in items:
            self._note(item, is_last=is_last)
        while self._after + 1 in self._written:
            self._after += 1
            self._written.remove(self._after)

    def carrier_was_restarted(self) -> None:
        """Begin with the first application again, because the carrier counts from 1."""
        self._after = 0
        self._lasting.clear()
        self._written.clear()

    def _note(self, item: injection.Applied, *, is_last: bool) -> None:
        if item.sequence in self._written:
            return
        if item.sequence not in self._lasting:
            self._journal.took_effect(item.fault)
            self._lasting.add(item.sequence)
        if item.ended is not None or is_last:
            self._journal.write(record(item, self._kinds.get(item.fault, "")))
            self._lasting.remove(item.sequence)
            self._written.add(item.sequence)


def record(item: injection.Applied, kind: str) -> records.FaultApplied:
    """Return the record of an application; `kind` is that of its fault."""
    facts = item.facts
    return records.FaultApplied(
        fault=item.fault,
        kind=kind,
        client=facts.client,
        verb=facts.verb,
        resource=facts.resource,
        subresource=facts.subresource,
        namespace=facts.namespace,
        name=facts.name,
        uid=facts.uid,
        event_type=facts.event_type,
        resource_version=facts.resource_version,
        begun_ns=item.begun.monotonic_ns,
        ended_ns=item.ended.monotonic_ns if item.ended else None,
        detail=effect(item),
    )


def effect(item: injection.Applied) -> str:
    """Return in words what was done."""
    match item.action:
        case injection.Lose() if item.point == "response":
            return "carried out; the answer was lost"
        case injection.Delay(seconds=seconds):
            return f"{_DELAYED[item.point]} {seconds:g} s late"
        case injection.Reject(code=code):
            return f"answered {code}"
        case injection.Stale(seconds=seconds):
            return f"answered with the state of {seconds:g} s ago"
        case injection.Overlook():
            return "the object was removed in spite of its finalizers"
        case action:
            return _DONE[type(action)]


_DELAYED = {"request": "carried out", "response": "answered", "event": "sent"}
_DONE: Mapping[type[injection.Action], str] = {
    injection.Block: "held",
    injection.Lose: "lost before it was carried out",
    injection.Truncate: "broken off in the middle",
    injection.Drop: "the watch's connection was closed before the event",
    injection.Gone: "the watch was ended by 410 before the event",
    injection.Omit: "the bookmark was left out",
}
