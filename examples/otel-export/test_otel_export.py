"""Which spans a run becomes, and what the SDK makes of them: `pytest otel-export`."""

from typing import Any

import otel_export
from opentelemetry.sdk.trace.export import in_memory_span_exporter


def observed(ts_ns: int, kind: str, name: str, device: str = "") -> tuple[str, dict[str, Any]]:
    result = {"driver": "gpu.example", "pool": "pool", "device": device, "request": "r"}
    status = {"allocation": {"devices": {"results": [result]}}} if device else {}
    meta = {"uid": f"uid-{name}", "name": name, "namespace": "tests"}
    return "recorder", {
        "record": "observation",
        "resource": "resourceclaims",
        "type": kind,
        "ts_ns": ts_ns,
        "object": {"metadata": meta, "status": status},
    }


def step(seq: int, name: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    record = {"record": "step", "seq": seq, "ts_ns": 1000 * seq, "thread": "t", "name": name}
    return "scheduler", record | {"fields": fields}


DOUBLE = [
    observed(1, "ADDED", "a"),
    observed(2, "MODIFIED", "a", "gpu-0"),
    observed(3, "ADDED", "b", "gpu-0"),
    observed(9, "DELETED", "a"),
]
ATTEMPT = [
    step(1, "informer.listed", count=1),
    step(2, "scheduling.started", pod="u1"),
    step(3, "gather.started"),
    step(4, "scheduling.unschedulable", reason="no nodes"),
]


def test_a_double_allocation_is_an_error_of_both_holds() -> None:
    holds = [span for span in otel_export.spans_of(DOUBLE) if span.name == "hold"]
    assert [(hold.begun_ns, hold.ended_ns, hold.error) for hold in holds] == [
        (2, 9, "double allocation: b held gpu.example/pool/gpu-0, too"),
        (3, 3, "double allocation: a held gpu.example/pool/gpu-0, too"),
    ]


def test_an_attempt_has_the_steps_of_its_thread() -> None:
    _, attempt = otel_export.spans_of(ATTEMPT)
    assert (attempt.trace, attempt.begun_ns, attempt.ended_ns) == ("u1", 2000, 4000)
    assert attempt.error == "no nodes"
    assert [name for name, _, _ in attempt.events] == ["gather.started", "scheduling.unschedulable"]


def test_a_call_is_in_the_trace_of_its_claim() -> None:
    call = {"op": 1, "verb": "create", "resource": "resourceclaims", "namespace": "tests"}
    call |= {"record": "invocation", "name": "a", "user": "u", "ts_ns": 1}
    end = {"record": "completion", "op": 1, "outcome": "fail", "ts_ns": 2, "reason": "Conflict"}
    found = otel_export.spans_of([*DOUBLE, ("traffic-0", call), ("traffic-0", end)])
    (made,) = [span for span in found if span.process == "traffic-0"]
    assert (made.trace, made.error) == ("uid-a", "fail: Conflict")


def test_the_sdk_has_every_span_with_one_root_in_each_trace_and_the_same_ids_again() -> None:
    def sent() -> list[Any]:
        exporter = in_memory_span_exporter.InMemorySpanExporter()
        sender = otel_export.Sender("f00d", 7, exporter)
        for span in otel_export.spans_of(DOUBLE):
            sender.add(span)
        assert sender.close()
        return list(exporter.get_finished_spans())

    found = sent()
    assert len(found) == len(otel_export.spans_of(DOUBLE)) == 5
    roots = [span.context.trace_id for span in found if span.parent is None]
    assert sorted(roots) == sorted({span.context.trace_id for span in found})
    assert len([span for span in found if not span.status.is_ok]) == 2
    ids = [(span.name, span.context.trace_id, span.context.span_id) for span in found]
    assert ids == [(span.name, span.context.trace_id, span.context.span_id) for span in sent()]
