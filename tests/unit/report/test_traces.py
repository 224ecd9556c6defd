"""The trace: spans of a track nest, overlaps have tracks of their own, and it is bounded."""

import collections
import gzip
import json
import pathlib
from typing import Any

import pytest

from harness.checks import judging
from harness.history import directories, records
from harness.report import publishing, traces
from tests.histories import building, damages, language
from tests.unit.report import races

Event = dict[str, Any]


def _trace(directory: directories.RunDirectory) -> dict[str, Any]:
    publishing.publish(judging.examine(directory))
    document: dict[str, Any] = json.loads(directory.trace.read_bytes())
    return document


def _spans(trace: dict[str, Any]) -> dict[tuple[int, int], list[tuple[int, int, str]]]:
    """Begin and end in nanoseconds, and name, of all spans of each track."""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            span = (begin, begin + round(event["dur"] * 1000), event["name"])
            found[event["pid"], event["tid"]].append(span)
    return found


def _not_nested(trace: dict[str, Any]) -> list[tuple[int, int, str]]:
    """Spans that begin within another one of their track and end after it."""
    bad = []
    for spans in _spans(trace).values():
        open_until: list[int] = []
        for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            if open_until and end > open_until[-1]:
                bad.append((begin, end, name))
            open_until.append(end)
    return bad


def _tracks(trace: dict[str, Any], pid: int) -> list[str]:
    return [
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_name" and event["pid"] == pid
    ]


def _window(begun: int, ended: int) -> records.FaultWindow:
    return records.FaultWindow(
        fault="delay",
        kind="delay-events",
        begun_ns=language.at(begun),
        ended_ns=language.at(ended),
        applied_count=0,
    )


TEXTS = {
    "one after the other": "a+D1 a-D1 b+D1 b-D1 c+D1",
    "two at once": races.TEXT,
    "three at once": "a+D1 b+D1 c+D1 a-D1 d+D1 b-D1 c-D1 d-D1",
    "admin access": "a+D1! b+D1 a-D1 c+D1!",
    "shares": "a+D1% b+D1% b-D1 a-D1",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_spans_of_a_track_nest(tmp_path: pathlib.Path, text: str) -> None:
    trace = _trace(building.build(tmp_path / "run", text))
    assert _spans(trace)
    assert _not_nested(trace) == []


def test_windows_of_a_fault_that_overlap_have_tracks_of_their_own(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 /delay-events:a>9")
    damages.appended(damages.faults, _window(0, 50), _window(20, 90), _window(60, 70))(directory)
    trace = _trace(directory)
    assert _not_nested(trace) == []
    assert {"delay", "delay (2)"} <= set(_tracks(trace, traces.FAULTS_PID))


def test_a_claim_that_overlaps_has_a_track_below_its_device(tmp_path: pathlib.Path) -> None:
    trace = _trace(building.build(tmp_path / "run", "a+D1 b+D1 c+D2"))
    device = language.device_id("D1", {})
    tracks = _tracks(trace, traces.DEVICES_PID)
    assert tracks == [device, f"{device} · overlaps: b", language.device_id("D2", {})]


def test_counters_tell_queue_and_throughput(tmp_path: pathlib.Path) -> None:
    trace = _trace(building.build(tmp_path / "run", "p:a q:b r:c .50 r~ a+D1 a^p p* b+D2 b^q q*"))
    values = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            values[event["name"]].append(event["args"]["value"])
    assert max(values["devices held"]) == 2
    assert max(values["pods waiting"]) == 3
    assert values["pods waiting"][-1] == 0
    assert max(values["allocations/s"]) > 0


# ------------------------------------------------------------------------------------ its bounds


def test_a_large_trace_keeps_double_allocations_whole(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "HOLDS_MAX", 50)
    monkeypatch.setattr(traces, "PLAIN_MAX", 2**20)
    words = [f"c{number}+D{number % 20} c{number}~" for number in range(386)]
    for number in range(7):
        words.insert(
            number * 55, f"a{number}+D9{number} b{number}+D9{number} a{number}~ b{number}~"
        )
    trace = _trace(building.build(tmp_path / "run", " ".join(words)))
    about = trace["otherData"]
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert about["holds"] == 400
    assert about["holds_left_out"] == 400 - len(spans)
    assert 50 <= len(spans) <= 50 + 2 * 7
    assert sum("overlaps" in name for name in _tracks(trace, traces.DEVICES_PID)) >= 1
    held = collections.Counter((event["tid"], event["ts"]) for event in spans)
    assert len(held) == len(spans)
    doubled = [name for name in _tracks(trace, traces.DEVICES_PID) if "overlaps" in name]
    assert len(doubled) == 7
    assert _not_nested(trace) == []


def test_steps_near_a_double_allocation_are_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "STEPS_MAX", 3)
    monkeypatch.setattr(traces, "NEAR_NS", 2_000_000)
    far = races.steps([races.added("x")] * 20, first_ns=language.at(900))
    directory = building.build(tmp_path / "run", races.TEXT + " .999", steps=far)
    trace = _trace(directory)
    assert trace["otherData"]["steps_left_out"] == 17


def test_past_a_size_the_trace_is_compressed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = building.build(tmp_path / "run", "a+D1")
    plain = _trace(directory)
    monkeypatch.setattr(traces, "PLAIN_MAX", 100)
    publishing.publish(judging.examine(directory))
    assert not directory.trace.exists()
    assert json.loads(gzip.decompress(directory.compressed_trace.read_bytes())) == plain
    assert 'href="trace.json.gz"' in directory.report.read_text()
    before = directory.compressed_trace.read_bytes()
    publishing.publish(judging.examine(directory))
    assert directory.compressed_trace.read_bytes() == before
    monkeypatch.undo()
    assert _trace(directory) == plain
    assert not directory.compressed_trace.exists()
