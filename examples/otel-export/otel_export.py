"""Sends a run to an OpenTelemetry collector: `python -m otel_export reports/latest`.

One trace for each pod and claim, with its API calls, scheduling attempts, steps and holds, and one
for the run with its phases, processes and faults. The ids follow from the run, so that sending a
run again gives the same spans. The collector is chosen by OpenTelemetry's environment variables,
such as OTEL_EXPORTER_OTLP_ENDPOINT.
"""

import collections
import dataclasses
import hashlib
import os
import pathlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk import resources
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.trace import export, id_generator

from harness import api

Record = dict[str, Any]
"""A line of a journal; reports/README.md documents them."""
RUN = "run"
"""The trace of the run, and the service of its phases, processes and faults."""
KINDS = {"pods": ("pod", "Running"), "resourceclaims": ("claim", "allocated")}
"""Resource -> name of the root span, and of its event."""
ATTEMPT_BEGINS = "scheduling.started"
ATTEMPT_ENDS = ("scheduling.unschedulable", "reserve.done")
EVENTS_MAX = 100
"""Most events of a span; OpenTelemetry keeps 128."""
BATCH = 512


@dataclasses.dataclass(kw_only=True)
class Span:
    """Something that took time; times are of the run's monotonic clock."""

    name: str
    process: str
    """The process that did it, which is the service: `scheduler`, `traffic-0`, …"""
    trace: str
    """The uid of a pod or claim, or RUN."""
    key: str
    """Distinguishes the spans of a trace; empty: the root of the trace."""
    begun_ns: int
    ended_ns: int
    error: str = ""
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    events: list[tuple[str, int, dict[str, Any]]] = dataclasses.field(default_factory=list)
    """Name, time and attributes."""


def spans_of(records: Iterable[tuple[str, Record]]) -> list[Span]:
    """Return the spans of a run; records of one journal are in their order."""
    by_kind: dict[str, list[tuple[str, Record]]] = collections.defaultdict(list)
    last_ns = 0
    for process, record in records:
        by_kind[record["record"]].append((process, record))
        last_ns = max(last_ns, record.get("ts_ns") or 0)
    uids: dict[tuple[str, str, str], str] = {}
    found = list(_objects((record for _, record in by_kind["observation"]), uids))
    found += _calls(by_kind["invocation"], by_kind["completion"], uids, last_ns)
    found += _steps(by_kind["step"])
    found += _phases([record for _, record in by_kind["phase"]], last_ns)
    found += _processes(by_kind["process-started"], by_kind["process-ended"], last_ns)
    found += [_fault(record) for _, record in by_kind["fault-applied"]]
    begun_ns = min((span.begun_ns for span in found), default=0)
    root = Span(name=RUN, process=RUN, trace=RUN, key="", begun_ns=begun_ns, ended_ns=last_ns)
    return [root, *found]


# ---------------------------------------------------------------- pods, claims and holds


def _objects(records: Iterable[Record], uids: dict[tuple[str, str, str], str]) -> Iterator[Span]:
    """Yield the spans of objects and of their holds; fill in the uid of each name."""
    roots: dict[str, Span] = {}
    holds: dict[str, dict[str, tuple[Span, bool]]] = collections.defaultdict(dict)
    """Device -> uid of each claim that holds it, the span, and whether it holds it alone."""
    for record in records:
        meta = record["object"].get("metadata", {})
        if record["resource"] not in KINDS or record["type"] == "FINAL" or "uid" not in meta:
            continue
        uid, ts_ns = meta["uid"], record["ts_ns"]
        name, event = KINDS[record["resource"]]
        if uid not in roots:
            uids[record["resource"], meta.get("namespace", ""), meta["name"]] = uid
            roots[uid] = _object_span(name, uid, meta, ts_ns)
            yield roots[uid]
        root = roots[uid]
        root.ended_ns = ts_ns
        held = {} if record["type"] == "DELETED" else _held(record["object"])
        is_running = record["object"].get("status", {}).get("phase") == "Running"
        if (held or is_running) and not root.events:
            root.events.append((event, ts_ns, {}))
        yield from _change_holds(holds, root, held, ts_ns)
    for holders in holds.values():
        for uid, (span, _) in holders.items():
            span.ended_ns = roots[uid].ended_ns


def _object_span(name: str, uid: str, meta: Record, ts_ns: int) -> Span:
    key = "k8s.pod.name" if name == "pod" else "flake_hunt.claim.name"
    attributes = {"k8s.namespace.name": meta.get("namespace", ""), key: meta["name"]}
    return Span(
        name=name,
        process="recorder",
        trace=uid,
        key="",
        begun_ns=ts_ns,
        ended_ns=ts_ns,
        attributes=attributes | {"flake_hunt.object.uid": uid},
    )


def _held(claim: Record) -> dict[str, bool]:
    """Return the devices of an allocation, and whether the claim has each of them alone."""
    allocation = claim.get("status", {}).get("allocation") or {}
    held: dict[str, bool] = {}
    for result in allocation.get("devices", {}).get("results", []):
        if not result.get("adminAccess"):
            device = f"{result['driver']}/{result['pool']}/{result['device']}"
            held[device] = held.get(device, False) or not result.get("shareID")
    return held


def _change_holds(
    holds: dict[str, dict[str, tuple[Span, bool]]], root: Span, held: dict[str, bool], ts_ns: int
) -> Iterator[Span]:
    """End the holds of a claim that are over; yield those that begin."""
    for device, holders in holds.items():
        if root.trace in holders and device not in held:
            holders.pop(root.trace)[0].ended_ns = ts_ns
    for device, is_alone in held.items():
        holders = holds[device]
        if root.trace in holders:
            continue
        span = Span(
            name="hold",
            process="recorder",
            trace=root.trace,
            key=f"hold {device} {ts_ns}",
            begun_ns=ts_ns,
            ended_ns=ts_ns,
            attributes=root.attributes | {"flake_hunt.device": device},
        )
        for other, other_is_alone in holders.values():
            if is_alone or other_is_alone:
                for one, two in ((span, other), (other, span)):
                    one.error = f"double allocation: {_name(two)} held {device}, too"
        holders[root.trace] = (span, is_alone)
        yield span


def _name(hold: Span) -> str:
    return str(hold.attributes["flake_hunt.claim.name"])


# ---------------------------------------------------------------- calls, steps, the run


def _calls(
    begun: Iterable[tuple[str, Record]],
    ended: Iterable[tuple[str, Record]],
    uids: dict[tuple[str, str, str], str],
    last_ns: int,
) -> Iterator[Span]:
    """Yield the API calls; one on a pod or claim is in its trace."""
    answers = {(process, record["op"]): record for process, record in ended}
    unanswered = {"outcome": "unknown", "ts_ns": last_ns}
    for process, call in begun:
        end = answers.get((process, call["op"]), unanswered)
        resource = call["resource"].partition("/")[0]
        uid = end.get("uid") or uids.get((resource, call["namespace"], call["name"]))
        why = f"{end['outcome']}: {end.get('reason', '')} {end.get('message', '')}".strip()
        attributes = {
            "flake_hunt.verb": call["verb"],
            "flake_hunt.resource": call["resource"],
            "k8s.namespace.name": call["namespace"],
            "flake_hunt.object.name": call["name"],
            "flake_hunt.user": call["user"],
            "flake_hunt.outcome": end["outcome"],
        }
        if end.get("status") is not None:
            attributes["http.response.status_code"] = end["status"]
        yield Span(
            name=f"{call['verb']} {call['resource']}",
            process=process,
            trace=uid if uid and resource in KINDS else RUN,
            key=f"call {process} {call['op']}",
            begun_ns=call["ts_ns"],
            ended_ns=end["ts_ns"],
            error="" if end["outcome"] == "ok" else why,
            attributes=attributes,
        )


def _steps(steps: Iterable[tuple[str, Record]]) -> Iterator[Span]:
    """Yield attempts, with the steps of their thread as events, and other steps of an object."""
    attempts: dict[tuple[str, str], Span] = {}
    for process, step in steps:
        place, fields = (process, step["thread"]), step["fields"]
        attributes = {"thread.name": step["thread"]}
        attributes |= {f"flake_hunt.step.{key}": _plain(value) for key, value in fields.items()}
        if step["name"] == ATTEMPT_BEGINS and "pod" in fields:
            attempts[place] = _step_span("scheduling attempt", process, step, attributes)
            yield attempts[place]
        elif place in attempts:
            attempt = attempts[place]
            attempt.ended_ns = step["ts_ns"]
            if len(attempt.events) < EVENTS_MAX:
                attempt.events.append((step["name"], step["ts_ns"], attributes))
            if step["name"] in ATTEMPT_ENDS:
                attempt.error = str(fields.get("reason", ""))
                del attempts[place]
        elif fields.get("pod") or fields.get("claim"):
            yield _step_span(step["name"], process, step, attributes)


def _step_span(name: str, process: str, step: Record, attributes: dict[str, Any]) -> Span:
    return Span(
        name=name,
        process=process,
        trace=str(step["fields"].get("pod") or step["fields"].get("claim")),
        key=f"step {process} {step['seq']}",
        begun_ns=step["ts_ns"],
        ended_ns=step["ts_ns"],
        attributes=attributes,
    )


def _plain(value: object) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else str(value)


def _phases(phases: list[Record], last_ns: int) -> Iterator[Span]:
    ends = [*(phase["ts_ns"] for phase in phases[1:]), last_ns]
    for phase, ended_ns in zip(phases, ends, strict=False):
        yield _of_run(f"phase: {phase['name']}", f"{phase['ts_ns']}", phase["ts_ns"], ended_ns)


def _processes(
    started: Iterable[tuple[str, Record]], ended: Iterable[tuple[str, Record]], last_ns: int
) -> Iterator[Span]:
    ends = {(record["process"], record["pid"]): record for _, record in ended}
    for _, record in started:
        name, pid = record["process"], record["pid"]
        end = ends.get((name, pid), {"ts_ns": last_ns, "expected": True})
        span = _of_run(f"process: {name}", str(pid), record["ts_ns"], end["ts_ns"])
        span.error = "" if end["expected"] else f"it ended with {end['exit_code']}"
        yield span


def _fault(record: Record) -> Span:
    key = f"{record['begun_ns']} {record['client']} {record['name']}"
    ended_ns = record["begun_ns"] if record["ended_ns"] is None else record["ended_ns"]
    span = _of_run(f"fault: {record['fault']}", key, record["begun_ns"], ended_ns)
    span.trace = record["uid"] or RUN
    span.attributes = {f"flake_hunt.fault.{key}": record[key] for key in ("kind", "detail")}
    return span


def _of_run(name: str, key: str, begun_ns: int, ended_ns: int) -> Span:
    return Span(
        name=name,
        process=RUN,
        trace=RUN,
        key=f"{name} {key}",
        begun_ns=begun_ns,
        ended_ns=ended_ns,
    )


# ---------------------------------------------------------------- OpenTelemetry's SDK


class _Ids(id_generator.IdGenerator):
    """Hands out the ids of the span that is made now."""

    trace, span = 1, 1

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class Sender:
    """Turns spans into those of the SDK, and exports them in batches."""

    def __init__(self, run_id: str, offset_ns: int, exporter: export.SpanExporter) -> None:
        """`offset_ns` is what the wall clock was ahead of the run's monotonic clock."""
        self._run_id, self._offset_ns, self._ids = run_id, offset_ns, _Ids()
        self._processor = export.BatchSpanProcessor(exporter, max_export_batch_size=BATCH)
        self._providers: dict[str, sdk.TracerProvider] = {}

    def add(self, span: Span) -> None:
        """Send a span, with others."""
        self._ids.trace = self._number(16, span.trace)
        self._ids.span = self._number(8, span.trace, span.key)
        tracer = self._provider(span.process).get_tracer("flake-hunt")
        made = tracer.start_span(
            span.name,
            context=self._parent(span),
            attributes=span.attributes,
            start_time=self._wall_ns(span.begun_ns),
        )
        for name, ts_ns, attributes in span.events:
            made.add_event(name, attributes, self._wall_ns(ts_ns))
        if span.error:
            made.set_status(trace.Status(trace.StatusCode.ERROR, span.error))
        made.end(self._wall_ns(max(span.ended_ns, span.begun_ns)))

    def close(self) -> bool:
        """Send what is left; return whether that was done in time."""
        is_sent = self._processor.force_flush()
        self._processor.shutdown()
        return is_sent

    def _wall_ns(self, ts_ns: int) -> int:
        return max(ts_ns + self._offset_ns, 0)

    def _parent(self, span: Span) -> context.Context:
        """Return the context of the trace's root; an empty one for the root itself."""
        if not span.key:
            return context.Context()
        root = trace.SpanContext(
            self._ids.trace,
            self._number(8, span.trace, ""),
            is_remote=False,
            trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
        )
        return trace.set_span_in_context(trace.NonRecordingSpan(root), context.Context())

    def _provider(self, process: str) -> sdk.TracerProvider:
        """Return the provider of a process, which is a service of its own."""
        if process not in self._providers:
            name = os.environ.get("OTEL_SERVICE_NAME") or f"flake-hunt-{process}"
            described = {"service.name": name, "flake_hunt.run.id": self._run_id}
            provider = sdk.TracerProvider(
                resource=resources.Resource.create(described),
                id_generator=self._ids,
                shutdown_on_exit=False,
            )
            provider.add_span_processor(self._processor)
            self._providers[process] = provider
        return self._providers[process]

    def _number(self, size: int, *parts: str) -> int:
        text = "\0".join((self._run_id, *parts))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest()) or 1


def wall_offset_ns(records: Iterable[tuple[str, Record]]) -> int:
    """Return how much the wall clock was ahead: late by the time to the first record."""
    found, begun_ns = [], None
    for _, record in records:
        if record["record"] == "header":
            begun_ns = record["started_wall_ns"]
        elif begun_ns is not None and record.get("ts_ns"):
            found.append(begun_ns - record["ts_ns"])
            begun_ns = None
    return max(found, default=0)


def main() -> None:
    """Send the run that the first argument names; by default the newest one."""
    directory = pathlib.Path(sys.argv[1] if sys.argv[1:] else "reports/latest")
    records = list(api.records(directory))
    spans = spans_of(records)
    run_id = next(record["run_id"] for _, record in records if record["record"] == "header")
    sender = Sender(run_id, wall_offset_ns(records), trace_exporter.OTLPSpanExporter())
    for span in spans:
        sender.add(span)
    if not sender.close():
        sys.exit("expected the collector to accept the spans; set OTEL_EXPORTER_OTLP_ENDPOINT")
    print(f"{len(spans)} spans of the run {run_id}")


if __name__ == "__main__":
    main()
