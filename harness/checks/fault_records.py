"""The record of the faults of a run: does it prove that they took effect and were healed?

A fault that is not required may have no effect, such as a list from an old cache if a remedy asks
for no such list. In a run of a hazard without a remedy there is no such reason: all are required.
"""

import collections
import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks import plan_facts, protocol, verdicts
from harness.history import plans, records
from harness.model.fault_effects import Effect

RECORDER = "recorder"
"""Client whose record is judged: a fault of it rules out VALID."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecords:
    """The faults that a run planned, and what its faults.jsonl says of them."""

    planned: Sequence[plans.PlannedFault] = ()
    applications: Sequence[records.FaultApplied] = ()
    windows: Sequence[records.FaultWindow] = ()
    demands_all: bool = False
    """True if faults are demanded that are not required: the run is to show a hazard, and has no
    remedy that makes a fault needless."""
    exists: bool = False
    """False if there is no faults.jsonl."""
    is_complete: bool = False
    """True if the file is undamaged and was closed."""
    ending: str = ""
    """How the file ends, as text; empty if there is none."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "FaultRecords":
        reader, plan = evidence.history.faults(), evidence.plan
        body = list(reader or ())
        is_complete, ending = reader.ended_in_order("records of faults") if reader else (False, "")
        return cls(
            planned=plan.faults,
            demands_all=bool(plan.known_to_fail and not plan.remedies),
            applications=[item for item in body if isinstance(item, records.FaultApplied)],
            windows=[item for item in body if isinstance(item, records.FaultWindow)],
            exists=reader is not None,
            is_complete=is_complete,
            ending=ending,
        )

    @property
    def is_expected(self) -> bool:
        return bool(self.planned) or self.exists


def answer(found: FaultRecords) -> tuple[bool, str]:
    problems = list(dict.fromkeys(_problems(found)))
    counts = collections.Counter(item.fault for item in found.applications)
    effects = [f"{fault.name}: {_of(counts[fault.name], fault)}" for fault in found.planned]
    good = f"{', '.join(effects)}; healed" if effects else "no fault was planned, none is recorded"
    return not problems, "; ".join(problems) or good


def _problems(found: FaultRecords) -> Iterator[str]:
    if not found.exists:
        yield "the run left no record of its faults"
    elif not found.is_complete:
        yield found.ending
    counts = collections.Counter(item.fault for item in found.applications)
    counted = {item.fault: 0 for item in found.windows}
    for window in found.windows:
        counted[window.fault] += window.applied_count
        if window.error:
            yield f"{window.fault}: {window.error}"
    for fault in found.planned:
        is_required = fault.required or found.demands_all
        if is_required and not fault.drawn_by and not counts[fault.name]:
            yield f"{fault.name} never took effect"
        elif is_required and counts[fault.name] < fault.owed:
            yield f"{fault.name} took effect {_of(counts[fault.name], fault)}"
        yield from _of_plan(fault, counts[fault.name], counted.get(fault.name))
    yield from _idle_nemeses(found.planned, counts)
    yield from _not_planned(found)
    yield from _outside(found)


def _of_plan(fault: plans.PlannedFault, applied: int, counted: int | None) -> Iterator[str]:
    """Yield what is wrong with one fault of the plan.

    `counted` is the number of applications according to its windows; None: it has no window.
    """
    if RECORDER in fault.clients:
        yield f"{fault.name} applies to the recorder, whose record is judged"
    if applied and counted is None:
        yield f"{fault.name} was never healed"
    if counted is not None and counted != applied:
        yield f"{fault.name} took effect {verdicts.times(counted)}, but {applied} are recorded"
    limit = _limit(fault)
    if limit is not None and applied > limit:
        yield f"{fault.name} took effect {verdicts.times(applied)}, expected at most {limit}"


def _idle_nemeses(
    planned: Sequence[plans.PlannedFault], counts: collections.Counter[str]
) -> Iterator[str]:
    required = [fault for fault in planned if fault.drawn_by and fault.required]
    for nemesis in dict.fromkeys(fault.drawn_by for fault in required):
        if not any(counts[fault.name] for fault in required if fault.drawn_by == nemesis):
            yield f"no fault that {nemesis} has drawn took effect"


def _not_planned(found: FaultRecords) -> Iterator[str]:
    """Yield applications of faults, and on clients, that the plan does not name."""
    clients = {fault.name: fault.clients for fault in found.planned}
    names = [item.fault for item in found.applications] + [item.fault for item in found.windows]
    for name in names:
        if name not in clients:
            yield f"{name} is not in the plan"
    for item in found.applications:
        expected = clients.get(item.fault)
        if item.client and expected and item.client not in expected:
            yield f"{item.fault} hit {item.client}, expected {' or '.join(expected)}"


def _outside(found: FaultRecords) -> Iterator[str]:
    """Yield the faults that took effect outside their windows; all windows are on one clock."""
    windows = collections.defaultdict[str, list[records.FaultWindow]](list)
    for window in found.windows:
        windows[window.fault].append(window)
    for item in found.applications:
        mine = windows[item.fault]
        if mine and not any(one.begun_ns <= item.begun_ns <= one.ended_ns for one in mine):
            yield f"{item.fault} took effect before it began or after it was healed"


def api_server_ends(found: FaultRecords) -> list[tuple[int, int]]:
    """Return when the API server surely lived last, and from when on it surely had ended.

    Monotonic times in nanoseconds; records of older runs have one only.
    """
    return [
        (item.alive_ns or item.begun_ns, item.dead_ns or item.begun_ns)
        for item in found.applications
        if plan_facts.effect(item) is Effect.API_SERVER
    ]


def _limit(fault: plans.PlannedFault) -> int | None:
    limit = fault.rule.get("count") if fault.rule else fault.parameters.get("times")
    return limit if isinstance(limit, int) else None


def effect(item: records.FaultApplied, on: str, text: str) -> verdicts.FaultEffect:
    return verdicts.FaultEffect(
        fault=item.fault,
        kind=item.kind,
        object=on,
        resource_version=item.resource_version,
        begun_ns=item.begun_ns,
        ended_ns=item.ended_ns,
        text=text,
    )


def _of(count: int, fault: plans.PlannedFault) -> str:
    return verdicts.times(count) + f" of {fault.owed}" * (count < fault.owed)
