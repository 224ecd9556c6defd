"""The certificate: what a VALID verdict rests on. Each item is a question about the evidence; one "no" makes VALID impossible."""

import collections
from collections.abc import Callable

import msgspec

from harness.checks import hold_history
from harness.history import histories, records


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """With the figures."""


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """What the journals of API calls come to."""

    problems: list[str]
    calls: int
    unknown: int
    created: set[str]
    """uids of pods and claims whose creation was acknowledged."""
    errors: dict[str, int]
    """`verb resource status reason` -> calls that did not succeed"""
    examples: dict[str, str]
    """The same -> the message of the first of them"""

    @property
    def commonest_error(self) -> str:
        """The error that the most calls ended in; empty when all succeeded."""
        if not self.errors:
            return ""
        name = max(self.errors, key=lambda name: self.errors[name])
        example = f": {self.examples[name]}" if self.examples.get(name) else ""
        count = self.errors[name]
        times = "once" if count == 1 else f"{count:,} times"
        return f"the commonest API error: {name}{example} ({times})"


ItemResult = tuple[bool, str]
TRAFFIC = "traffic"
"""The process of the load, as the run names it."""


def certify(
    history: histories.History,
    folded: hold_history.HoldHistory,
    recorder: histories.EvidenceReader | None,
) -> tuple[list[Item], Operations]:
    """All items; `recorder` is the reader that was folded."""
    operations = read_operations(history)
    answers: dict[str, tuple[str, ItemResult]] = {
        "recorder": ("Did the recorder end in order?", _recorder(recorder)),
        "first-lists": (
            "Was every resource listed before it was watched?",
            _lists(history, folded, lambda stream: stream.has_first_list, "first"),
        ),
        "no-gaps": ("Did the watches come through without a gap?", _gaps(folded)),
        "order": ("Did resourceVersions only grow?", _order(folded)),
        "final-lists": (
            "Does the last list show exactly what the events add up to?",
            _final(history, folded),
        ),
        "operations": (
            "Was every API call of the load journaled to its end?",
            _journals(operations),
        ),
        "acknowledged": (
            "Was every acknowledged creation observed?",
            _acknowledged(operations, folded),
        ),
        "steps": ("Did the subject's own record of its steps end in order?", _steps(history)),
        "processes": ("Did every process live until it was stopped?", _processes(history)),
        "in-time": ("Was everything done before the time was up?", _in_time(history)),
        "load": ("Was there enough load for the verdict to mean anything?", _load(history, folded)),
    }
    answers = {"files": ("Is every file whole, and of this run?", _files(history)), **answers}
    _name_commonest_error(answers, operations, history)
    items = [
        Item(name=name, question=question, ok=ok, reason=reason)
        for name, (question, (ok, reason)) in answers.items()
    ]
    return items, operations


def _files(history: histories.History) -> ItemResult:
    """The last answer: it tells what reading for the others came across."""
    damages = history.damages()
    return not damages, "; ".join(damages) or f"{len(history.directory.journals())} files"


def _name_commonest_error(
    answers: dict[str, tuple[str, ItemResult]], operations: Operations, history: histories.History
) -> None:
    """Add it to the reason why there was no load, or why the load ended badly: it mostly is the cause."""
    for name in ("load", "processes"):
        question, (ok, reason) = answers[name]
        is_blamed = not ok and (name == "load" or _traffic_failed(history))
        if is_blamed and operations.errors:
            answers[name] = question, (ok, f"{reason}; {operations.commonest_error}")
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
        return False, f"the last line of the {what} is torn: their writer was killed"
    if reader.trailer is None:
        return False, f"the {what} have no trailer: their writer did not end in order"
    return True, f"{reader.trailer.count} records, closed in order"


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
    return not bad, "; ".join(bad) or f"{total} objects at the end, as folded"


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
    return True, "; ".join(counts) or "none were asked for"


def _processes(history: histories.History) -> ItemResult:
    journal = history.processes
    if journal is None or journal.trailer is None:
        return False, "the run itself did not end in order"
    ends = [item for item in journal.records if isinstance(item, records.ProcessEnded)]
    bad = [
        f"{item.process} did not end in order when it was to (exit code {item.exit_code})"
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
    """Holds of a device that another claim had held before."""
    users: dict[str, set[str]] = collections.defaultdict(set)
    for hold in folded.holds:
        users[hold.device].add(hold.uid)
    return sum(len(uids) - 1 for uids in users.values())


# ------------------------------------------------------------------------------ operations


def read_operations(history: histories.History) -> Operations:
    """All journals of API calls that the plan expects."""
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
            tally.problems.append(f"{process}: {open_calls} calls without an end")
    return Operations(
        problems=tally.problems,
        calls=tally.calls,
        unknown=tally.unknown,
        created=tally.created,
        errors=dict(sorted(tally.errors.items())),
        examples=tally.examples,
    )


class _Tally:
    """Counts calls, journal by journal."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.calls = self.unknown = 0
        self.created: set[str] = set()
        self.errors: collections.Counter[str] = collections.Counter()
        self.examples: dict[str, str] = {}

    def read(self, reader: histories.EvidenceReader) -> int:
        """The number of calls whose end is missing."""
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
            self.problems.append(f"a call ended that had not begun (operation {end.op})")
            return
        if end.outcome == "unknown":
            self.unknown += 1
        if end.outcome != "ok":
            what = f"{call.verb} {call.resource} {end.status or 'no answer'} {end.reason}"
            self.errors[what.strip()] += 1
            self.examples.setdefault(what.strip(), end.message)
        elif call.verb == "create" and call.resource in (hold_history.CLAIMS, hold_history.PODS):
            self.created.add(end.uid)
