"""Totals over the journals beside the observations, and the problems of those journals.

A run whose pools changed less often than its scenario demands has not shown what it was for, so it
is not VALID.
"""

import collections
from collections.abc import Callable, Iterable, Iterator

import msgspec

from harness.checks import protocol, verdicts
from harness.checks.evidence import acknowledged_writes, observed_versions
from harness.checks.holds import hold_history
from harness.history import histories, plans, records

CONFLICT = 409
"""The HTTP status of a name that is taken, among others."""

NOT_FOUND = 404


def each(
    problems: list[str],
    processes: Iterable[str],
    journal: Callable[[str], histories.EvidenceReader | None],
    what: str,
    *,
    named: str = "journal",
) -> Iterator[tuple[str, histories.EvidenceReader]]:
    """Yield the journal of each process, to be read whole; its problems are noted afterwards.

    `what` are the records in the plural, `named` is the journal in the problem that it is missing.
    """
    for process in processes:
        reader = journal(process)
        if reader is None:
            problems.append(f"{process} left no {named}")
            continue
        yield process, reader
        ok, reason = reader.ended_in_order(f"{what} of {process}")
        if not ok:
            problems.append(reason)


class SubjectWrites(msgspec.Struct):
    """The journals of the scheduler and the claim controller, read."""

    versions: observed_versions.Versions = msgspec.field(default_factory=observed_versions.Versions)
    problems: list[str] = []
    """One line for each journal that is missing or incomplete."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "SubjectWrites":
        """Read the journals of the subject's writes that the plan expects."""
        found, history = cls(), evidence.history
        processes, named = history.expected_writes(), "journal of its writes"
        for _, reader in each(found.problems, processes, history.operations, "writes", named=named):
            for write in acknowledged_writes.of_journal(history.plan, reader):
                found.versions.add(write.uid, write.rv, write.held)
        return found


class Operations(msgspec.Struct, kw_only=True):
    """Totals over the journals of API calls."""

    problems: list[str] = []
    """One line for each journal that is missing or incomplete."""
    calls: int = 0
    unknown: int = 0
    """Calls whose outcome is unknown: no complete answer arrived."""
    created: set[str] = set()
    """uids of the pods and claims whose creation the API server acknowledged."""
    written: observed_versions.Versions = msgspec.field(default_factory=observed_versions.Versions)
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
        times = verdicts.times(self.errors[name])
        return f"the most frequent API error: {name}{example} ({times})"


def read(history: histories.History) -> Operations:
    """Read all journals of API calls that the plan expects."""
    found = Operations()
    journals = each(found.problems, history.expected_operations(), history.operations, "operations")
    for process, reader in journals:
        open_calls = _count(found, history.plan, reader)
        if not reader.ended_in_order("operations")[0]:
            continue
        if reader.may_be_cut_off:
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


# -------------------------------------------------------------------------- pool changes


class PoolChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the journals of changes."""

    made: dict[str, int] = {}
    """Name of a change -> how often it was made."""
    undone: dict[str, int] = {}
    """Name of a change -> how often it was undone."""


class PoolReading(msgspec.Struct, frozen=True, kw_only=True):
    """The totals, and the problems of the journals."""

    totals: PoolChanges
    problems: list[str]
    """One line for each journal that is missing or incomplete."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "PoolReading":
        return read_pools(evidence.history)


def read_pools(history: histories.History) -> PoolReading:
    """Read all journals of changes that the plan expects."""
    made: collections.Counter[str] = collections.Counter()
    undone: collections.Counter[str] = collections.Counter()
    problems: list[str] = []
    processes, named = history.expected_pool_changes(), "journal of changes"
    for _, reader in each(problems, processes, history.pool_changes, "changes", named=named):
        for record in reader:
            if isinstance(record, records.PoolChanged):
                (undone if record.undone else made)[record.change] += 1
    totals = PoolChanges(made=dict(sorted(made.items())), undone=dict(sorted(undone.items())))
    return PoolReading(totals=totals, problems=problems)


def pools_answer(reading: PoolReading, demanded: dict[str, int]) -> tuple[bool, str]:
    """Return whether every demanded change was made, and the figures.

    `demanded` is how often each has to be made, by name.
    """
    made = reading.totals.made
    missing = [
        f"{made.get(name, 0)} times {name}, expected {least}"
        for name, least in demanded.items()
        if made.get(name, 0) < least
    ]
    if missing:
        missing.append("the load ended too early: make traffic.duration_s longer")
    bad = [*reading.problems, *missing]
    good = ", ".join(f"{count} times {name}" for name, count in made.items())
    return not bad, "; ".join(bad) or good
