"""Totals over the journals of API calls, and the problems of those journals."""

import msgspec

from harness.checks import protocol
from harness.checks.evidence import acknowledged_writes, observed_versions
from harness.checks.holds import hold_history
from harness.history import histories, plans, records

CONFLICT = 409
"""The HTTP status of a name that is taken, among others."""

NOT_FOUND = 404


class Operations(msgspec.Struct, kw_only=True):
    """Totals over the journals of API calls."""

    problems: list[str] = []
    """One line for each journal that is missing or incomplete."""
    calls: int = 0
    unknown: int = 0
    """Calls whose outcome is unknown: no complete answer arrived."""
    created: set[str] = set()
    """uids of the pods and claims whose creation the API server acknowledged."""
    written: observed_versions.NumberedVersions = msgspec.field(
        default_factory=observed_versions.NumberedVersions
    )
    """Versions that the API server acknowledged and that must have been observed."""
    errors: dict[str, int] = {}
    """`verb resource status reason` -> number of calls that did not succeed."""
    examples: dict[str, str] = {}
    """`verb resource status reason` -> message of the first such call."""
    begun_beside: int = 0
    """Claims or pods that users have begun beside others that were waiting."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Operations":
        return read(evidence.history)

    @property
    def conflicts(self) -> int:
        answers = ((what.split(" "), count) for what, count in self.errors.items())
        return sum(count for words, count in answers if str(CONFLICT) in words[2:3])

    @property
    def most_frequent_error(self) -> str:
        """The most frequent error with its count; empty if all calls succeeded."""
        if not self.errors:
            return ""
        name = max(self.errors, key=lambda name: self.errors[name])
        example = f": {self.examples[name]}" if self.examples.get(name) else ""
        count = self.errors[name]
        times = "once" if count == 1 else f"{count:,} times"
        return f"the most frequent API error: {name}{example} ({times})"


def read(history: histories.History) -> Operations:
    """Read all journals of API calls that the plan expects."""
    found = Operations()
    for process in history.expected_operations():
        reader = history.operations(process)
        if reader is None:
            found.problems.append(f"{process} left no journal")
            continue
        open_calls = _count(found, history.plan, reader)
        ok, reason = reader.ended_in_order(f"operations of {process}")
        if not ok:
            found.problems.append(reason)
        elif reader.may_be_cut_off:
            found.unknown += open_calls
        elif open_calls:
            found.problems.append(f"{process}: {open_calls} calls without a completion")
    found.errors = dict(sorted(found.errors.items()))
    return found


def _count(found: Operations, plan: plans.Plan, reader: histories.EvidenceReader) -> int:
    """Count the calls of a journal; return the number of those without a completion."""
    begun: dict[int, records.Invocation] = {}
    for record in reader:
        match record:
            case records.Invocation():
                found.calls += 1
                begun[record.op] = record
            case records.Completion():
                _complete(found, plan, begun.pop(record.op, None), record)
            case records.Waited():
                found.begun_beside += bool(record.begun_beside)
            case _:
                pass
    return len(begun)


def _complete(
    found: Operations, plan: plans.Plan, call: records.Invocation | None, end: records.Completion
) -> None:
    if call is None:
        found.problems.append(f"a completion without an invocation (operation {end.op})")
        return
    if end.outcome == "unknown":
        found.unknown += 1
    if call.user == records.SET_UP and end.status == CONFLICT:
        return  # another worker was first
    if call.verb == "delete" and end.status == NOT_FOUND:
        return  # it is gone, as was asked for
    if end.outcome != "ok":
        what = f"{call.verb} {call.resource} {end.status or 'no answer'} {end.reason}".strip()
        found.errors[what] = found.errors.get(what, 0) + 1
        found.examples.setdefault(what, end.message)
    elif call.verb == "create" and call.resource in (hold_history.CLAIMS, hold_history.PODS):
        found.created.add(end.uid)
    write = acknowledged_writes.of_call(plan, call, end)
    if write is not None:
        found.written.add(write.uid, write.rv, write.held)
