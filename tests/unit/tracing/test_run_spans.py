"""Runs as spans: what they are made of, and what OpenTelemetry's SDK makes of them."""

import collections
import json
import pathlib
from collections.abc import Iterable
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import in_memory_span_exporter

from harness import clocks
from harness.history import directories, journal_reader, records
from harness.live import live_runs
from harness.tracing import run_spans, span_sending, spans
from tests.histories import building

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "device_exclusivity" / "INVALID"
ENOUGH_S = 30.0


def spans_of(path: pathlib.Path) -> list[spans.Span]:
    made, found = run_spans.RunSpans(), []
    live = live_runs.LiveRun(
        path,
        see_too=lambda tail, record: found.extend(made.see(tail.header.process, record)),  # type: ignore[union-attr]
    )
    assert live.read(at_most_s=ENOUGH_S)
    live.close()
    return [*found, *made.end()]


def only(found: Iterable[spans.Span], name: str) -> spans.Span:
    (one,) = [span for span in found if span.name == name]
    return one


def test_every_call_is_a_span_in_the_trace_of_its_object(tmp_path: pathlib.Path) -> None:
    made = building.build(tmp_path / "run", "p:a p* a+D1 a-D1 a~ p~")
    found = spans_of(made.path)
    journaled = [
        record
        for path in made.all_operations()
        for record in journal_reader.read(path).records
        if isinstance(record, records.Invocation)
    ]
    calls = [span for span in found if span.is_client]
    assert len(calls) == len(journaled) > 1
    traces = {span.name: span.trace for span in found if span.key == spans.ROOT}
    by_name = {span.name: span.trace for span in calls if not span.error}
    assert by_name["create pods"] == traces["pod"]
    assert by_name["create resourceclaims"] == traces["claim"]
    assert only(found, "run").trace == spans.RUN


def test_a_pod_and_a_hold_last_from_their_first_to_their_last_version(
    tmp_path: pathlib.Path,
) -> None:
    found = spans_of(building.build(tmp_path / "run", "p:a p* a+D1 .9 a-D1 p~").path)
    hold, pod, claim = (only(found, name) for name in ("hold", "pod", "claim"))
    assert hold.trace == claim.trace
    assert claim.begun_ns <= hold.begun_ns < hold.ended_ns <= claim.ended_ns
    assert hold.ended_ns - hold.begun_ns >= 9_000_000  # a commit is a millisecond
    assert [event.name for event in pod.events] == ["Running"]
    assert hold.error == pod.error == ""


def test_a_double_allocation_is_an_error_of_both_holds(tmp_path: pathlib.Path) -> None:
    found = spans_of(building.build(tmp_path / "run", "a+D1 b+D1 a-D1 c+D2").path)
    errors = {
        (span.attributes["flake_hunt.claim.name"], span.error)
        for span in found
        if span.name == "hold"
    }
    assert errors == {
        ("a", "double allocation: b held gpu.example/pool/D1, too"),
        ("b", "double allocation: a held gpu.example/pool/D1, too"),
        ("c", ""),
    }


def step(seq: int, name: str, thread: str = "t", **fields: Any) -> records.Step:
    return building.step(seq, thread, name, 1_000 * seq, **fields)


def test_an_attempt_has_the_steps_of_its_thread(tmp_path: pathlib.Path) -> None:
    steps = [
        step(1, "informer.listed", count=1),
        step(2, "scheduling.started", pod="u1", attempt=1),
        step(3, "gather.started"),
        step(4, "hint.claim-created", thread="other", pod="u2", claim="c"),
        step(5, "scheduling.unschedulable", pod="u1", reason="no nodes"),
        step(6, "scheduling.started", pod="u1", attempt=2),
        step(7, "reserve.done", pod="u1", node="n"),
        step(8, "bind.done", pod="u1", node="n"),
        step(9, "scheduling.started", pod="u3", attempt=1),
    ]
    found = spans_of(building.build(tmp_path / "run", "a+D1", steps=steps).path)
    attempts = [span for span in found if span.name == "scheduling attempt"]
    assert [(span.trace, span.begun_ns, span.ended_ns, span.error) for span in attempts] == [
        ("u1", 2000, 5000, "no nodes"),
        ("u1", 6000, 7000, ""),
        ("u3", 9000, 9000, ""),
    ]
    assert [event.name for event in attempts[0].events] == [
        "gather.started",
        "scheduling.unschedulable",
    ]
    assert only(found, "bind.done").trace == "u1"
    assert only(found, "hint.claim-created").trace == "u2"
    assert not [span for span in found if span.name == "informer.listed"]


# ---------------------------------------------------------------- the SDK


def sent(path: pathlib.Path, *, offset_ns: int = 0) -> tuple[ReadableSpan, ...]:
    exporter = in_memory_span_exporter.InMemorySpanExporter()
    sender = span_sending.Sender(
        "f00d", offset_ns, {"flake_hunt.run.id": "f00d"}, exporter=exporter
    )
    for span in spans_of(path):
        sender.add(span)
    sender.flush()
    return exporter.get_finished_spans()


def test_the_sdk_has_every_span_with_one_root_in_each_trace() -> None:
    found, made = sent(GOLDEN, offset_ns=7), spans_of(GOLDEN)
    assert len(found) == len(made) > 10
    ids = collections.Counter((span.context.trace_id, span.context.span_id) for span in found)
    assert set(ids.values()) == {1}
    roots = collections.Counter(span.context.trace_id for span in found if span.parent is None)
    traces = {span.context.trace_id for span in found}
    assert set(roots.values()) == {1}
    assert set(roots) == traces
    for span in found:
        assert span.parent is None or (span.parent.trace_id, span.parent.span_id) in ids
    times = {(span.name, span.begun_ns + 7, max(span.ended_ns, span.begun_ns) + 7) for span in made}
    assert {(span.name, span.start_time, span.end_time) for span in found} == times
    errors = [span for span in found if span.name == "hold" and not span.status.is_ok]
    assert len(errors) >= 2


def test_the_same_run_has_the_same_ids_again() -> None:
    def ids() -> list[Any]:
        return [(span.name, span.context.trace_id, span.context.span_id) for span in sent(GOLDEN)]

    assert ids() == ids()


def test_each_process_is_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=ci")
    resources = [span.resource.attributes for span in sent(GOLDEN)]
    names = {resource["service.name"] for resource in resources}
    assert {"flake-hunt-traffic-0", "flake-hunt-scheduler", "flake-hunt-run"} >= names - {
        "flake-hunt-recorder"
    }
    assert "flake-hunt-traffic-0" in names
    assert {resource["deployment.environment"] for resource in resources} == {"ci"}
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    assert {span.resource.attributes["service.name"] for span in sent(GOLDEN)} == {"mine"}


def test_times_of_another_boot_are_estimated_from_the_headers() -> None:
    directory = directories.RunDirectory(GOLDEN)
    offset = run_spans.wall_offset_ns(directory, "another boot")
    started = json.loads(directory.processes.read_text().splitlines()[0])["started_wall_ns"]
    first = json.loads(directory.processes.read_text().splitlines()[1])["ts_ns"]
    assert offset >= started - first
    here = run_spans.wall_offset_ns(directory, clocks.boot_id())
    assert abs(clocks.monotonic_ns() + here - clocks.wall_ns()) < 1e9
