"""All spans of a run, from the records of its journals."""

from collections.abc import Iterator

from harness import clocks
from harness.history import directories, journal_tails, records
from harness.live import observed_objects
from harness.tracing import object_spans, spans, step_spans

_OUTCOME = "flake_hunt.outcome"


class RunSpans:
    """Makes spans of records; `see` takes those of each journal in their order."""

    def __init__(self) -> None:
        self._objects = object_spans.ObjectSpans()
        self._steps = step_spans.StepSpans()
        self._calls: dict[tuple[str, int], records.Invocation] = {}
        self._late: list[tuple[str, records.Invocation, records.Completion]] = []
        """Calls on objects that the recorder has not seen yet."""
        self._phase: records.Phase | None = None
        self._processes: dict[tuple[str, int], records.ProcessStarted] = {}
        self._first_ns: int | None = None
        self._last_ns = 0

    @property
    def left_out(self) -> int:
        """The number of steps that are in no span."""
        return self._steps.left_out

    def see(self, process: str, record: object) -> Iterator[spans.Span]:
        """See a record of a process's journal; yield the spans that have ended with it."""
        match record:
            case observed_objects.Seen():
                self._note(record.ts_ns)
                yield from self._objects.see(record)
            case records.Invocation():
                self._calls[process, record.op] = record
            case records.Completion():
                begun = self._calls.pop((process, record.op), None)
                if begun is not None:
                    yield from self._see_call(process, begun, record)
            case records.Step():
                yield from self._steps.see(process, record)
            case _:
                yield from self._see_of_run(record)

    def settle(self, *, is_last: bool = False) -> Iterator[spans.Span]:
        """Yield the calls on objects that have been seen by now; all of them if `is_last`."""
        late, self._late = self._late, []
        for process, begun, end in late:
            yield from self._see_call(process, begun, end, is_last=is_last)

    def end(self) -> Iterator[spans.Span]:
        """Yield everything that has no end in the journals, and the run itself."""
        yield from self.settle(is_last=True)
        yield from self._steps.end()
        yield from self._objects.end()
        yield from self._end_phase(self._last_ns)
        for (process, op), begun in self._calls.items():
            unanswered = records.Completion(op=op, outcome="unknown", ts_ns=self._last_ns)
            yield from self._see_call(process, begun, unanswered, is_last=True)
        for started in self._processes.values():
            yield _process(started, self._last_ns, "")
        if self._first_ns is not None:
            yield spans.Span(
                name="run",
                process=spans.RUN,
                trace=spans.RUN,
                key=spans.ROOT,
                begun_ns=self._first_ns,
                ended_ns=self._last_ns,
            )

    def _note(self, ts_ns: int) -> None:
        self._first_ns = ts_ns if self._first_ns is None else min(self._first_ns, ts_ns)
        self._last_ns = max(self._last_ns, ts_ns)

    def _see_of_run(self, record: object) -> Iterator[spans.Span]:
        """See a record of phases, processes or faults."""
        match record:
            case records.Phase():
                self._note(record.ts_ns)
                yield from self._end_phase(record.ts_ns)
                self._phase = record
            case records.ProcessStarted():
                self._note(record.ts_ns)
                self._processes[record.process, record.pid] = record
            case records.ProcessEnded():
                self._note(record.ts_ns)
                started = self._processes.pop((record.process, record.pid), None)
                if started is not None:
                    why = "" if record.expected else f"it ended with {record.exit_code}"
                    yield _process(started, record.ts_ns, why)
            case records.FaultApplied():
                yield _fault(record)

    def _end_phase(self, ts_ns: int) -> Iterator[spans.Span]:
        phase, self._phase = self._phase, None
        if phase is not None:
            yield spans.Span(
                name=f"phase: {phase.name}",
                process=spans.RUN,
                trace=spans.RUN,
                key=f"phase {phase.name} {phase.ts_ns}",
                begun_ns=phase.ts_ns,
                ended_ns=ts_ns,
                attributes={"flake_hunt.detail": phase.detail} if phase.detail else {},
            )

    def _see_call(
        self,
        process: str,
        begun: records.Invocation,
        end: records.Completion,
        *,
        is_last: bool = False,
    ) -> Iterator[spans.Span]:
        """Yield the span of a call, in the trace of its object if that is a pod or a claim."""
        resource = begun.resource.partition("/")[0]
        is_object = resource in (observed_objects.PODS, observed_objects.CLAIMS)
        uid = end.uid or self._objects.uid_of(resource, begun.namespace, begun.name)
        if is_object and uid is None and not is_last:
            self._late.append((process, begun, end))
        else:
            yield _call(process, begun, end, (uid if is_object else None) or spans.RUN)


def _call(
    process: str, begun: records.Invocation, end: records.Completion, trace: str
) -> spans.Span:
    attributes: spans.Attributes = {
        "flake_hunt.verb": begun.verb,
        "flake_hunt.resource": begun.resource,
        "k8s.namespace.name": begun.namespace,
        "flake_hunt.object.name": begun.name,
        "flake_hunt.user": begun.user,
        _OUTCOME: end.outcome,
    }
    if end.status is not None:
        attributes["http.response.status_code"] = end.status
    if end.resource_version:
        attributes["flake_hunt.resource_version"] = end.resource_version
    error = "" if end.outcome == "ok" else f"{end.outcome}: {end.reason} {end.message}".strip()
    return spans.Span(
        name=f"{begun.verb} {begun.resource}",
        process=process,
        trace=trace,
        key=f"call {process} {begun.op}",
        begun_ns=begun.ts_ns,
        ended_ns=end.ts_ns,
        is_client=True,
        error=error,
        attributes=attributes,
    )


def _process(started: records.ProcessStarted, ended_ns: int, error: str) -> spans.Span:
    return spans.Span(
        name=f"process: {started.process}",
        process=spans.RUN,
        trace=spans.RUN,
        key=f"process {started.process} {started.pid}",
        begun_ns=started.ts_ns,
        ended_ns=ended_ns,
        error=error,
        attributes={"process.pid": started.pid},
    )


def _fault(applied: records.FaultApplied) -> spans.Span:
    return spans.Span(
        name=f"fault: {applied.fault}",
        process=spans.RUN,
        trace=applied.uid or spans.RUN,
        key=f"fault {applied.fault} {applied.begun_ns} {applied.client} {applied.name}",
        begun_ns=applied.begun_ns,
        ended_ns=applied.begun_ns if applied.ended_ns is None else applied.ended_ns,
        attributes={
            "flake_hunt.fault.kind": applied.kind,
            "flake_hunt.fault.detail": applied.detail,
            "flake_hunt.fault.process": applied.client or applied.process,
        },
    )


def wall_offset_ns(directory: directories.RunDirectory, boot_id: str) -> int:
    """Return how much the wall clock is ahead of the run's monotonic clock.

    Of another boot, it is estimated from the headers: it is late by the time between a header and
    the first record after it, in the journal in which that is shortest.
    """
    if boot_id == clocks.boot_id():
        return clocks.wall_ns() - clocks.monotonic_ns()
    found = []
    for path in directory.journals():
        tail = journal_tails.Tail(path)
        first = next(tail.new(), None)
        if tail.header is not None and first is not None:
            ts_ns = getattr(first, "ts_ns", None)
            if ts_ns is not None:
                found.append(tail.header.started_wall_ns - ts_ns)
        tail.close()
    return max(found, default=0)
