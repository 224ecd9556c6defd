"""Spans of the scheduler's attempts and steps, from its named steps.

An attempt lasts from `scheduling.started` to the step that ends it; the steps of its thread in
between are its events. Any other step that names a pod or a claim is a span without a duration.
"""

import dataclasses
from collections.abc import Iterator

from harness.history import records
from harness.tracing import spans

BEGIN = "scheduling.started"
ENDS = frozenset({"scheduling.unschedulable", "reserve.done"})
EVENTS_MAX = 100
"""Most steps of one attempt; OpenTelemetry keeps 128 events of a span."""


@dataclasses.dataclass(slots=True)
class _Attempt:
    pod: str
    begin: records.Step
    events: list[spans.Event]


class StepSpans:
    """The steps of all processes of the subject."""

    def __init__(self) -> None:
        self._attempts: dict[tuple[str, str], _Attempt] = {}
        """By process and thread."""
        self.left_out = 0
        """Steps that name neither a pod nor a claim, and are of no attempt."""

    def see(self, process: str, step: records.Step) -> Iterator[spans.Span]:
        """See a step."""
        place = (process, step.thread)
        if step.name == BEGIN and isinstance(step.fields.get("pod"), str):
            yield from self._end(place, step.ts_ns)
            self._attempts[place] = _Attempt(step.fields["pod"], step, [])
            return
        attempt = self._attempts.get(place)
        if attempt is None:
            yield from self._alone(process, step)
            return
        if len(attempt.events) < EVENTS_MAX:
            event = spans.Event(step.name, step.ts_ns, _attributes(step))
            attempt.events.append(event)
        if step.name in ENDS:
            reason = str(step.fields.get("reason", ""))
            yield from self._end(place, step.ts_ns, error=reason)

    def end(self) -> Iterator[spans.Span]:
        """Yield the attempts that have no end, up to their last step."""
        for place, attempt in list(self._attempts.items()):
            last = attempt.events[-1].ts_ns if attempt.events else attempt.begin.ts_ns
            yield from self._end(place, last)

    def _end(self, place: tuple[str, str], ts_ns: int, *, error: str = "") -> Iterator[spans.Span]:
        attempt = self._attempts.pop(place, None)
        if attempt is not None:
            yield spans.Span(
                name="scheduling attempt",
                process=place[0],
                trace=attempt.pod,
                key=f"step {place[0]} {attempt.begin.seq}",
                begun_ns=attempt.begin.ts_ns,
                ended_ns=ts_ns,
                error=error,
                attributes=_attributes(attempt.begin),
                events=tuple(attempt.events),
            )

    def _alone(self, process: str, step: records.Step) -> Iterator[spans.Span]:
        owner = step.fields.get("pod") or step.fields.get("claim")
        if not isinstance(owner, str):
            self.left_out += 1
            return
        yield spans.Span(
            name=step.name,
            process=process,
            trace=owner,
            key=f"step {process} {step.seq}",
            begun_ns=step.ts_ns,
            ended_ns=step.ts_ns,
            attributes=_attributes(step),
        )


def _attributes(step: records.Step) -> spans.Attributes:
    found: spans.Attributes = {"thread.name": step.thread}
    for key, value in step.fields.items():
        is_plain = isinstance(value, str | int | float | bool)
        found[f"flake_hunt.step.{key}"] = value if is_plain else str(value)
    return found
