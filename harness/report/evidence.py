"""What the pictures of a report are drawn from: what was examined, and one pass over the steps."""

import collections
import dataclasses
from collections.abc import Iterable

from harness.checks import hold_history, judging, verdicts
from harness.history import histories, records

GATHER_STEPS = frozenset(
    {
        "gather.started",
        "gather.devices.cloned",
        "gather.in-flight.listed",
        "gather.conflict",
        "gather.finished",
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class Strip:
    """What one of the strips is about: a device and the two claims."""

    device: str
    first: str
    second: str


@dataclasses.dataclass(slots=True)
class Evidence:
    """Everything a report shows."""

    history: histories.History
    judgement: judging.Judgement
    folded: hold_history.HoldHistory
    steps: list[list[records.Step]]
    """For each of the violations the steps that concern its device or claims, and the gather that decided, in order."""
    started_ns: int
    ended_ns: int
    step_counts: dict[str, int]
    missing: list[str]
    """What could not be read, in words."""

    @property
    def violations(self) -> list[verdicts.DoubleAllocation]:
        """The double allocations listed in full."""
        return [item for check in self.judgement.checks for item in check.violations]

    @property
    def seconds(self) -> float:
        """The length of the run."""
        return max((self.ended_ns - self.started_ns) / 1e9, 1e-9)


def collect(examination: judging.Examination) -> Evidence:
    """Read the steps, which no judge needs, to what was examined."""
    history, folded = examination.history, examination.folded
    started_ns, ended_ns = _span(history, folded)
    evidence = Evidence(
        history=history,
        judgement=examination.judgement,
        folded=folded,
        steps=[],
        started_ns=started_ns,
        ended_ns=ended_ns,
        step_counts={},
        missing=[],
    )
    _read_steps(evidence)
    return evidence


def _span(history: histories.History, folded: hold_history.HoldHistory) -> tuple[int, int]:
    times = [phase.ts_ns for phase in history.phases]
    times += [life.seen_ns for life in (*folded.claims.values(), *folded.pods.values())]
    return (min(times), max(times)) if times else (0, 0)


def _read_steps(evidence: Evidence) -> None:
    strips = [
        Strip(item.device, item.holders[0].uid, item.holders[1].uid) for item in evidence.violations
    ]
    sorter = _Sorter(strips)
    for process in evidence.history.plan.expected_steps:
        reader = evidence.history.steps(process)
        if reader is None:
            evidence.missing.append(f"{process} left no record of its steps")
        else:
            sorter.sort(reader)
            if reader.damage:
                evidence.missing.append(reader.damage)
    evidence.steps = sorter.chosen()
    evidence.step_counts = dict(sorted(sorter.counts.items()))


class _Sorter:
    """Sorts steps to the strips that they explain."""

    def __init__(self, strips: Iterable[Strip]) -> None:
        self._strips = list(strips)
        self._by_name: dict[str, list[int]] = collections.defaultdict(list)
        for index, strip in enumerate(self._strips):
            for name in (strip.device, strip.first, strip.second):
                self._by_name[name].append(index)
        self._found: list[dict[int, records.Step]] = [{} for _ in self._strips]
        self._gathers: list[records.Step] = []
        self.counts: collections.Counter[str] = collections.Counter()

    def sort(self, steps: Iterable[records.Body]) -> None:
        """Take the steps of one process."""
        for step in steps:
            if isinstance(step, records.Step):
                self.counts[step.name] += 1
                self._take(step)

    def _take(self, step: records.Step) -> None:
        if step.name in GATHER_STEPS:
            self._gathers.append(step)
            return
        for key in ("device", "claim"):
            for index in self._by_name.get(str(step.fields.get(key)), ()):
                self._found[index][step.ts_ns * 1000 + step.seq % 1000] = step

    def chosen(self) -> list[list[records.Step]]:
        """For each strip its steps and the gather that decided."""
        return [
            self._around(strip, list(found.values()))
            for strip, found in zip(self._strips, self._found, strict=True)
        ]

    def _around(self, strip: Strip, mine: list[records.Step]) -> list[records.Step]:
        planned = [
            step.ts_ns
            for step in mine
            if step.name == "in-flight.added"
            and step.fields.get("claim") == strip.second
            and step.fields.get("device") == strip.device
        ]
        gather = self._last_gather(max(planned)) if planned else []
        return sorted([*mine, *gather], key=lambda step: (step.ts_ns, step.seq))

    def _last_gather(self, before_ns: int) -> list[records.Step]:
        """The attempt whose answer decided: from its start to this moment."""
        found: list[records.Step] = []
        for step in reversed(self._gathers):
            if step.ts_ns <= before_ns:
                found.append(step)
                if step.name == "gather.started":
                    break
        return found
