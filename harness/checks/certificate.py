"""The certificate: the evidence that a VALID verdict rests on.

Each item is a question about the evidence. A single "no" rules out VALID.
"""

import collections
from collections.abc import Callable

import msgspec

from harness.checks import hold_history
from harness.history import histories, records


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question about the evidence and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """The answer in words, with figures."""


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the journals of API calls."""

    problems: list[str]
    """One line for each journal that is missing or incomplete."""
    calls: int
    unknown: int
    """Calls whose outcome is unknown: no complete answer arrived."""
    created: set[str]
    """uids of the pods and claims whose creation the API server acknowledged."""
    errors: dict[str, int]
    """`verb resource status reason` -> number of calls that did not succeed."""
    examples: dict[str, str]
    """`verb resource status reason` -> message of the first such call."""

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


ItemResult = tuple[bool, str]
"""The answer to a question and its reason."""
TRAFFIC = "traffic"
"""Name of the process that makes the load."""


def certify(
    history: histories.History,
    folded: hold_history.HoldHistory,
    recorder: histories.EvidenceReader | None,
) -> tuple[list[Item], Operations]:
    """Return all items, and the totals of the API calls.

    `recorder` is the reader from which `folded` was made; None if there are no observations.
    """
    operations = read_operations(history)
    answers: dict[str, tuple[str, ItemResult]] = {
        "recorder": ("Was the recorder stopped in an orderly way?", _recorder(recorder)),
        "first-lists": (
            "Was every resource listed before it was watched?",
            _lists(history, folded, lambda stream: stream.has_first_list, "first"),
        ),
        "no-gaps": ("Were the watches free of gaps?", _gaps(folded)),
        "order": ("Did resourceVersions only increase?", _order(folded)),
        "final-lists": (
            "Does the final list match the state that the events add up to?",
            _final(history, folded),
        ),
        "operations": (
            "Was every API call of the load journaled to completion?",
            _journals(operations),
        ),
        "acknowledged": (
            "Was every acknowledged creation observed?",
            _acknowledged(operations, folded),
        ),
        "steps": ("Is the record of the scheduler's steps complete?", _steps(history)),
        "processes": ("Did every process run until it was stopped?", _processes(history)),
        "in-time": ("Did every phase end within its time limit?", _in_time(history)),
        "load": ("Was there enough load for a meaningful verdict?", _load(history, folded)),
    }
    answers = {
        "files": ("Is every file undamaged and part of this run?", _files(history)),
        **answers,
    }
    _name_most_frequent_error(answers, operations, history)
    items = [
        Item(name=name, question=question, ok=ok, reason=reason)
        for name, (question, (ok, reason)) in answers.items()
    ]
    return items, operations


def _files(history: histories.History) -> ItemResult:
    """Answer last: the other answers read the files and find the damage."""
    damages = history.damages()
    return not damages, "; ".join(damages) or f"{len(history.directory.journals())} files"


def _name_most_frequent_error(
    answers: dict[str, tuple[str, ItemResult]], operations: Operations, history: histories.History
) -> None:
    """Append the most frequent API error to the reason for missing load or a failed load process.

    It usually is the cause.
    """
    for name in ("load", "processes"):
        question, (ok, reason) = answers[name]
        is_blamed = not ok and (name == "load" or _traffic_failed(history))
        if is_blamed and operations.errors:
            answers[name] = question, (ok, f"{reason}; {operations.most_frequent_error}")
            return


def _traffic_failed(history: histories.History) -> bool:
    return any(
        isinstance(item, records.ProcessEnded)
        and item.process == TRAFFIC
        and not (item.expected and item.exit_code == 0)
        for item in (history.processes.records if history.processes else ())
    )


def _recorder(reader: histories.EvidenceReader | None) -> ItemResult:
    if reader is None:
        return False, "there are no observations"
    return _ended_in_order(reader, "observations")


def _ended_in_order(reader: histories.EvidenceReader, what: str) -> ItemResult:
    if reader.damage:
        return False, f"the {what} are damaged"
    if reader.torn:
        return False, f"the last line of the {what} is incomplete: the writer was killed"
    if reader.trailer is None:
        return False, f"the {what} have no trailer: the writer was not closed"
    return True, f"{reader.trailer.count} records, file closed"


def _lists(
    history: histories.History,
    folded: hold_history.HoldHistory,
    has: Callable[[hold_history.ObservedStream], bool],
    which: str,
) -> ItemResult:
    missing = [name for name in history.plan.resources if not has(folded.stream(name))]
    if missing:
        return False, f"no {which} list of {', '.join(missing)}"
    return True, f"{len(history.plan.resources)} resources"


def _gaps(folded: hold_history.HoldHistory) -> ItemResult:
    gaps = [
        f"{name} after {gap.after_resource_version} ({gap.reason})"
        for name, stream in folded.streams.items()
        for gap in stream.gaps
    ]
    observed = sum(stream.observed for stream in folded.streams.values())
    return not gaps, "; ".join(gaps) or f"{observed} commits observed"


def _order(folded: hold_history.HoldHistory) -> ItemResult:
    bad = {name: stream.disordered for name, stream in folded.streams.items() if stream.disordered}
    text = "; ".join(f"{name}: {len(found)}, first {found[0]}" for name, found in bad.items())
    return not bad, text or f"up to resourceVersion {folded.last_rv}"


def _final(history: histories.History, folded: hold_history.HoldHistory) -> ItemResult:
    ok, reason = _lists(history, folded, lambda stream: stream.has_final_list, "final")
    if not ok:
        return ok, reason
    differing = {
        name: len(set(stream.live.items()) ^ set(stream.final.items()))
        for name, stream in folded.streams.items()
    }
    bad = [f"{name}: {count} objects differ" for name, count in differing.items() if count]
    total = sum(len(stream.final) for stream in folded.streams.values())
    return not bad, "; ".join(bad) or f"{total} objects in the final lists, all as expected"


def _journals(operations: Operations) -> ItemResult:
    if operations.problems:
        return False, "; ".join(operations.problems)
    return True, f"{operations.calls} calls, {operations.unknown} with unknown outcome"


def _acknowledged(operations: Operations, folded: hold_history.HoldHistory) -> ItemResult:
    missing = operations.created - folded.claims.keys() - folded.pods.keys()
    if missing:
        return (
            False,
            f"{len(missing)} of {len(operations.created)} never observed, e.g. {min(missing)}",
        )
    return True, f"{len(operations.created)} pods and claims"


def _steps(history: histories.History) -> ItemResult:
    counts: list[str] = []
    for process in history.plan.expected_steps:
        reader = history.steps(process)
        if reader is None:
            return False, f"{process} left no steps"
        collections.deque(reader, maxlen=0)
        ok, reason = _ended_in_order(reader, f"steps of {process}")
        if not ok:
            return ok, reason
        counts.append(f"{process}: {reason}")
    return True, "; ".join(counts) or "no steps were requested"


def _processes(history: histories.History) -> ItemResult:
    journal = history.processes
    if journal is None or journal.trailer is None:
        return False, "the run itself did not finish"
    ends = [item for item in journal.records if isinstance(item, records.ProcessEnded)]
    bad = [
        f"{item.process} ended unexpectedly or with an error (exit code {item.exit_code})"
        for item in ends
        if not item.expected
    ]
    started = {item.process for item in journal.records if isinstance(item, records.ProcessStarted)}
    bad += [f"{name} never ended" for name in sorted(started - {item.process for item in ends})]
    bad += [phase.detail for phase in history.phases if phase.name == "ended early"]
    return not bad, "; ".join(dict.fromkeys(bad)) or f"{len(ends)} processes"


def _in_time(history: histories.History) -> ItemResult:
    late = [phase.detail for phase in history.phases if phase.name == "timed out"]
    return not late, "; ".join(late) or "no phase timed out"


def _load(history: histories.History, folded: hold_history.HoldHistory) -> ItemResult:
    wanted = history.plan.requirements
    figures = {
        "allocations": (len(folded.holds), wanted.allocations_min),
        "pods seen Running": (folded.pods_running, wanted.pods_running_min),
        "devices used again": (reuse(folded), wanted.reuse_min),
    }
    bad = [
        f"{got} {what}, expected at least {least}"
        for what, (got, least) in figures.items()
        if got < least
    ]
    good = [f"{got} {what} (at least {least})" for what, (got, least) in figures.items()]
    return not bad, "; ".join(bad or good)


def reuse(folded: hold_history.HoldHistory) -> int:
    """Return the number of holds of a device that another claim had held before."""
    users: dict[str, set[str]] = collections.defaultdict(set)
    for hold in folded.holds:
        users[hold.device].add(hold.uid)
    return sum(len(uids) - 1 for uids in users.values())


# ------------------------------------------------------------------------------ operations


def read_operations(history: histories.History) -> Operations:
    """Read all journals of API calls that the plan expects."""
    tally = _Tally()
    for process in history.plan.expected_operations:
        reader = history.operations(process)
        if reader is None:
            tally.problems.append(f"{process} left no journal")
            continue
        open_calls = tally.read(reader)
        ok, reason = _ended_in_order(reader, f"operations of {process}")
        if not ok:
            tally.problems.append(reason)
        elif open_calls:
            tally.problems.append(f"{process}: {open_calls} calls without a completion")
    return Operations(
        problems=tally.problems,
        calls=tally.calls,
        unknown=tally.unknown,
        created=tally.created,
        errors=dict(sorted(tally.errors.items())),
        examples=tally.examples,
    )


class _Tally:
    """Totals over journals of API calls."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.calls = self.unknown = 0
        self.created: set[str] = set()
        self.errors: collections.Counter[str] = collections.Counter()
        self.examples: dict[str, str] = {}

    def read(self, reader: histories.EvidenceReader) -> int:
        """Add one journal; return the number of calls without a completion."""
        begun: dict[int, records.Invocation] = {}
        for record in reader:
            match record:
                case records.Invocation():
                    self.calls += 1
                    begun[record.op] = record
                case records.Completion():
                    self._complete(begun.pop(record.op, None), record)
                case _:
                    pass
        return len(begun)

    def _complete(self, call: records.Invocation | None, end: records.Completion) -> None:
        if call is None:
            self.problems.append(f"a completion without an invocation (operation {end.op})")
            return
        if end.outcome == "unknown":
            self.unknown += 1
        if end.outcome != "ok":
            what = f"{call.verb} {call.resource} {end.status or 'no answer'} {end.reason}"
            self.errors[what.strip()] += 1
            self.examples.setdefault(what.strip(), end.message)
        elif call.verb == "create" and call.resource in (hold_history.CLAIMS, hold_history.PODS):
            self.created.add(end.uid)
