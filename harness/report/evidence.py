"""The data behind a report: the examination of a run, and one pass over its steps."""

import collections
import dataclasses
import functools
import statistics
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from harness.checks import judging, verdict_files, verdicts
from harness.checks.faults import fault_records
from harness.checks.holds import hold_history
from harness.checks.witness import audit_history, program_reads
from harness.history import histories, records
from harness.report import hold_tables
from harness.report.replay import watches

FENCED, READ, POSTPONED = "remedy.fenced", "remedy.read", "remedy.postponed"
_Spans = Sequence[tuple[int, int]]
"""Begins and ends in nanoseconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Costs:
    """The cost of the remedies in one run, as text."""

    remedies: Sequence[str]
    """Names of the remedies that were switched on."""
    fences: int
    """Writes that only give a claim a new version."""
    reads: int
    retries: int
    """Attempts that failed and were repeated later."""
    waits: int
    """Number of waits."""
    waited: str
    """Median and longest wait; empty if there was none."""
    share: str
    """Share of the time from the first allocation to the last in which anything waited; empty if
    unknown."""


def costs(
    remedies: Sequence[str], counts: Mapping[str, int], waits: _Spans, allocated_ns: Sequence[int]
) -> Costs | None:
    """Return the costs; None if no remedy was switched on.

    `counts` of all steps by name; `allocated_ns` are the times of all allocations of devices.
    """
    if not remedies:
        return None
    return Costs(
        remedies=remedies,
        fences=counts.get(FENCED, 0),
        reads=counts.get(READ, 0),
        retries=counts.get(POSTPONED, 0),
        waits=len(waits),
        waited=_waited(waits),
        share=_share(waits, allocated_ns),
    )


def _waited(waits: _Spans) -> str:
    if not waits:
        return ""
    lengths = [(end - begin) / 1e6 for begin, end in waits]
    return f"median {statistics.median(lengths):.0f} ms, longest {max(lengths):.0f} ms"


def _share(waits: _Spans, allocated_ns: Sequence[int]) -> str:
    """Return the share of the scheduling time that is covered by waits, which may overlap."""
    first, last = min(allocated_ns, default=0), max(allocated_ns, default=0)
    if first == last:
        return ""
    covered, reached = 0, first
    for begin, end in sorted(waits):
        covered += max(min(end, last) - max(begin, reached), 0)
        reached = max(reached, end)
    return f"{100 * covered / (last - first):.1f} %"


GATHER_STEPS = frozenset(
    {
        "gather.started",
        "gather.devices.cloned",
        "gather.in-flight.listed",
        "gather.conflict",
        "gather.finished",
    }
)
"""Steps in which the scheduler collects the devices that are allocated or in flight."""


@dataclasses.dataclass
class Evidence:
    """Everything a report shows."""

    history: histories.History
    judgement: verdict_files.Judgement
    folded: hold_history.HoldHistory
    holds: hold_tables.HoldTable
    faults: fault_records.FaultRecords
    steps: list[list[records.Step]]
    """The steps of each of `double_allocations`, in order: those of its device and claims, and the
    gather that preceded the second allocation."""
    started_ns: int
    ended_ns: int
    step_counts: dict[str, int]
    """Name of a step -> how often it was recorded."""
    remedy_costs: Costs | None
    """None if no remedy was switched on."""
    missing: list[str]
    """One sentence for each file of steps that could not be read."""
    received: dict[str, watches.Received]
    """Process -> the events of claims that it received; empty without double allocations."""
    authors: Mapping[int, audit_history.Author]
    """Version -> who wrote it, according to the audit log."""
    reads: program_reads.ProgramReads

    @property
    def double_allocations(self) -> list[verdicts.DoubleAllocation]:
        """The double allocations listed in full."""
        return verdicts.double_allocations(self.judgement.checks)

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """uid -> name of each claim and pod that was observed."""
        lives = {**self.folded.claims, **self.folded.pods}
        return {uid: life.name for uid, life in lives.items()}

    @property
    def seconds(self) -> float:
        """The duration of the run; never zero."""
        return max((self.ended_ns - self.started_ns) / 1e9, 1e-9)


def collect(examination: judging.Examination) -> Evidence:
    """Add the subject's steps, which no check reads, to an examination."""
    history, folded = examination.history, examination.folded
    started_ns, ended_ns = _span(history, folded)
    evidence = Evidence(
        history=history,
        judgement=examination.judgement,
        folded=folded,
        holds=hold_tables.table(
            folded, examination.judgement, started_ns=started_ns, ended_ns=ended_ns
        ),
        faults=examination.faults,
        steps=[],
        started_ns=started_ns,
        ended_ns=ended_ns,
        step_counts={},
        remedy_costs=None,
        missing=[],
        received={},
        authors=examination.authors,
        reads=examination.reads,
    )
    _read_steps(evidence)
    return evidence


def _span(history: histories.History, folded: hold_history.HoldHistory) -> tuple[int, int]:
    times = [phase.ts_ns for phase in history.phases]
    times += [life.seen_ns for life in (*folded.claims.values(), *folded.pods.values())]
    return (min(times), max(times)) if times else (0, 0)


def _read_steps(evidence: Evidence) -> None:
    sorter = _StepSorter(evidence.double_allocations)
    for process in evidence.history.expected_steps():
        reader = evidence.history.steps(process)
        if reader is None:
            evidence.missing.append(f"{process} left no record of its steps")
        else:
            sorter.sort(process, reader)
            if reader.damage:
                evidence.missing.append(reader.damage)
    evidence.steps = sorter.chosen()
    evidence.received = sorter.received
    evidence.step_counts = dict(sorted(sorter.counts.items()))
    evidence.remedy_costs = costs(
        evidence.history.plan.remedies,
        sorter.counts,
        sorter.waits,
        (evidence.holds.from_ns + evidence.started_ns).tolist(),
    )


_Taken = tuple[str, records.Step]
"""A step with the name of its process."""


class _StepSorter:
    """Assigns steps to the double allocations that they explain."""

    def __init__(self, violations: Iterable[verdicts.DoubleAllocation]) -> None:
        self._violations = list(violations)
        self._by_name: dict[str, list[int]] = collections.defaultdict(list)
        for index, violation in enumerate(self._violations):
            for name in (violation.device, *(holder.uid for holder in violation.holders)):
                self._by_name[name].append(index)
        self._steps: list[list[_Taken]] = [[] for _ in self._violations]
        self._gathers: dict[str, list[records.Step]] = {}
        """Process -> the steps of its gathers, in order."""
        self.counts: collections.Counter[str] = collections.Counter()
        self.waits: list[tuple[int, int]] = []
        """Begin and end of each wait of a remedy, in nanoseconds; it reports it at its end."""
        self.received: dict[str, watches.Received] = {}

    def sort(self, process: str, steps: Iterable[records.Body]) -> None:
        """Assign the steps of one process."""
        self._gathers[process] = []
        received = watches.Received()
        if self._violations:
            self.received[process] = received
        for step in steps:
            if isinstance(step, records.Step):
                self.counts[step.name] += 1
                self._note_wait(step)
                self._take(process, step)
                if self._violations:
                    received.add(step)

    def _note_wait(self, step: records.Step) -> None:
        waited_ms = step.fields.get("waited_ms") if step.name.startswith("remedy.") else None
        if isinstance(waited_ms, int | float) and waited_ms > 0:
            self.waits.append((step.ts_ns - round(waited_ms * 1e6), step.ts_ns))

    def _take(self, process: str, step: records.Step) -> None:
        if step.name in GATHER_STEPS:
            self._gathers[process].append(step)
            return
        named = [str(step.fields.get(key)) for key in ("device", "claim")]
        for index in dict.fromkeys(
            index for name in named for index in self._by_name.get(name, ())
        ):
            self._steps[index].append((process, step))

    def chosen(self) -> list[list[records.Step]]:
        """Return, for each double allocation, its steps and the deciding gather, in order."""
        return [
            self._with_gather(violation, taken)
            for violation, taken in zip(self._violations, self._steps, strict=True)
        ]

    def _with_gather(
        self, violation: verdicts.DoubleAllocation, taken: list[_Taken]
    ) -> list[records.Step]:
        planned = [
            (step.ts_ns, process)
            for process, step in taken
            if step.name == "in-flight.added"
            and step.fields.get("claim") == violation.holders[1].uid
            and step.fields.get("device") == violation.device
        ]
        gather = self._last_gather(*max(planned)) if planned else []
        return _in_order([*taken, *gather])

    def _last_gather(self, before_ns: int, process: str) -> list[_Taken]:
        """Return the steps of a process's last gather before this time, latest first."""
        gather: list[_Taken] = []
        for step in reversed(self._gathers[process]):
            if step.ts_ns <= before_ns:
                gather.append((process, step))
                if step.name == "gather.started":
                    break
        return gather


def _in_order(taken: list[_Taken]) -> list[records.Step]:
    """Return the steps by time.

    Those of several processes get numbers across them, and threads the names of their processes.
    """
    ordered = sorted(taken, key=lambda item: (item[1].ts_ns, item[1].seq))
    if len({process for process, _ in ordered}) < 2:
        return [step for _, step in ordered]
    return [
        msgspec.structs.replace(step, seq=number, thread=f"{process}/{step.thread}")
        for number, (process, step) in enumerate(ordered)
    ]
