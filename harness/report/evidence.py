"""The data behind a report: the examination of a run, and one pass over its steps."""

import collections
import functools
from collections.abc import Iterable, Iterator

import msgspec

from harness.checks import judging, verdicts
from harness.checks.holds import hold_history
from harness.history import histories, records
from harness.report import hold_tables
from harness.report.causes import held_threads
from harness.report.replay import watches

GATHER_STEPS = frozenset(
    f"gather.{name}"
    for name in ("started", "devices.cloned", "in-flight.listed", "conflict", "finished")
)
"""Steps in which the scheduler collects the devices that are allocated or in flight."""


class Evidence:
    """Everything a report shows: an examination, and the subject's steps, which no check reads."""

    def __init__(self, examination: judging.Examination) -> None:
        self.history, self.judgement = examination.history, examination.judgement
        self.folded, self.faults = examination.folded, examination.faults
        self.authors, self.reads = examination.authors, examination.reads
        self.double_allocations = verdicts.double_allocations(self.judgement.checks)
        """The double allocations listed in full."""
        self.started_ns, self.ended_ns = _span(self.history, self.folded)
        self.holds = hold_tables.table(
            self.folded, self.judgement, started_ns=self.started_ns, ended_ns=self.ended_ns
        )
        sorter = _StepSorter(self.double_allocations)
        self.missing = list(_sorted(self.history, sorter))
        """One sentence for each file of steps that could not be read."""
        self.steps = sorter.chosen()
        """The steps of each of `double_allocations`, in order: those of its device and claims, and
        the gather that preceded the second allocation."""
        self.received = sorter.received
        """Process -> the events of claims that it received; empty without double allocations."""
        self.step_counts = dict(sorted(sorter.counts.items()))
        """Name of a step -> how often it was recorded."""

    @functools.cached_property
    def held(self) -> list[held_threads.HeldThread]:
        return [*held_threads.of_script(self.history), *self.held_in_orders]

    @functools.cached_property
    def held_in_orders(self) -> list[held_threads.HeldThread]:
        return list(held_threads.of_orders(self.history))

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """uid -> name of each claim and pod that was observed."""
        lives = {**self.folded.claims, **self.folded.pods}
        return {uid: life.name for uid, life in lives.items()}

    @property
    def seconds(self) -> float:
        return max((self.ended_ns - self.started_ns) / 1e9, 1e-9)


def _span(history: histories.History, folded: hold_history.HoldHistory) -> tuple[int, int]:
    times = [phase.ts_ns for phase in history.phases]
    times += [life.seen_ns for life in (*folded.claims.values(), *folded.pods.values())]
    return (min(times), max(times)) if times else (0, 0)


def _sorted(history: histories.History, sorter: "_StepSorter") -> Iterator[str]:
    """Give the sorter all steps; yield a sentence for each file that could not be read."""
    for process in history.expected_steps():
        reader = history.steps(process)
        if reader is None:
            yield f"{process} left no record of its steps"
        else:
            sorter.sort(process, reader)
            if reader.damage:
                yield reader.damage


_Taken = tuple[str, records.Step]
"""A step with the name of its process."""


class _StepSorter:
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
        self.received: dict[str, watches.Received] = {}

    def sort(self, process: str, steps: Iterable[records.Body]) -> None:
        self._gathers[process] = []
        received = watches.Received()
        if self._violations:
            self.received[process] = received
        for step in steps:
            if isinstance(step, records.Step):
                self.counts[step.name] += 1
                self._take(process, step)
                if self._violations:
                    received.add(step)

    def _take(self, process: str, step: records.Step) -> None:
        if step.name in GATHER_STEPS:
            self._gathers[process].append(step)
            return
        named = [str(step.fields.get(key)) for key in ("device", "claim")]
        found = (index for name in named for index in self._by_name.get(name, ()))
        for index in dict.fromkeys(found):
            self._steps[index].append((process, step))

    def chosen(self) -> list[list[records.Step]]:
        return [
            self._with_gather(violation, taken)
            for violation, taken in zip(self._violations, self._steps, strict=True)
        ]

    def _with_gather(
        self, violation: verdicts.DoubleAllocation, taken: list[_Taken]
    ) -> list[records.Step]:
        wanted = {"claim": violation.holders[1].uid, "device": violation.device}
        planned = [
            (step.ts_ns, process)
            for process, step in taken
            if step.name == "in-flight.added" and wanted.items() <= step.fields.items()
        ]
        return _in_order([*taken, *(self._last_gather(*max(planned)) if planned else ())])

    def _last_gather(self, before_ns: int, process: str) -> Iterator[_Taken]:
        for step in reversed(self._gathers[process]):
            if step.ts_ns <= before_ns:
                yield process, step
                if step.name == "gather.started":
                    return


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
