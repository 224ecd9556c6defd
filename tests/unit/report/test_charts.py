"""Charts of a run: their numbers are those of a simple count, and no double allocation is lost."""

import pathlib
import random
import re

import numpy as np
import pytest

from harness.checks import judging
from harness.checks.faults import fault_records
from harness.history import records
from harness.report import evidence
from harness.report.charts import (
    binning,
    device_lanes,
    latency_charts,
    run_charts,
    series_charts,
    time_plots,
)
from tests.histories import building, damages, language, large

Spans = list[tuple[float, float | None]]


def _source(path: pathlib.Path, text: str, *damage: damages.Damage) -> evidence.Evidence:
    directory = building.build(path / "run", text)
    for do in damage:
        do(directory)
    return evidence.collect(judging.examine(directory))


# -------------------------------------------------------------------------------------- binning


def _random_spans(seed: int) -> Spans:
    chance = random.Random(seed)
    spans: Spans = []
    for _ in range(chance.randrange(20)):
        begin = chance.randrange(100)
        end = None if chance.random() < 0.3 else begin + chance.randrange(1, 40)
        spans.append((float(begin), end))
    return spans


def _arrays(spans: Spans) -> tuple[binning.Times, binning.Times]:
    begins = np.array([begin for begin, _ in spans], dtype=np.float64)
    ends = np.array([end for _, end in spans if end is not None], dtype=np.float64)
    return begins, ends


@pytest.mark.parametrize("seed", range(30))
def test_the_highest_level_of_each_bin(seed: int) -> None:
    spans = _random_spans(seed)
    edges = np.arange(0.0, 101.0, 5.0)
    found = binning.highest(*_arrays(spans), edges)
    expected = [
        max(
            sum(begin <= at and (end is None or at < end) for begin, end in spans)
            for at in range(int(low), int(low) + 5)
        )
        for low in edges[:-1]
    ]
    assert found.tolist() == expected


@pytest.mark.parametrize("seed", range(30))
def test_the_time_that_is_covered(seed: int) -> None:
    spans = [(begin, end or 120.0) for begin, end in _random_spans(seed)]
    edges = np.arange(0.0, 101.0, 5.0)
    begins, ends = np.array(spans, dtype=np.float64).reshape(-1, 2).T
    expected = [
        sum(max(min(end, low + 5) - max(begin, low), 0) for begin, end in spans)
        for low in edges[:-1]
    ]
    assert np.allclose(binning.covered(begins, ends, edges), expected)


def test_quantiles_of_each_bin() -> None:
    times, values = np.array([1.0, 2.0, 12.0]), np.array([10.0, 20.0, 5.0])
    found = binning.quantiles(times, values, np.array([0.0, 10.0, 20.0, 30.0]), (0.5, 1.0))
    assert found[:, :2].tolist() == [[15.0, 5.0], [20.0, 5.0]]
    assert np.isnan(found[:, 2]).all()


# -------------------------------------------------------------------------------------- devices


def test_each_hold_of_a_small_run_is_drawn(tmp_path: pathlib.Path) -> None:
    source = _source(tmp_path, "a+D1 a-D1 b+D1 c+D1 c+D2")
    chart = run_charts.draw(source).devices
    assert len(re.findall(r'class="heat[34]"><title>', chart.picture)) == 4
    assert chart.picture.count('class="double"') == 1
    assert "All 4 holds are drawn" in chart.note
    assert [row[1:] for row in chart.rows] == [("1", "3", "3", "1"), ("1", "1", "1", "0")]
    assert "Double allocations in: gpu.example/pool/D1." in chart.picture


def test_a_large_run_is_bounded_and_marks_every_double_allocation(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_lanes, "HOLDS_DRAWN", 100)
    directory = large.build(tmp_path / "run", 20_000, doubles=9)
    source = evidence.collect(judging.examine(directory))
    chart = run_charts.draw(source).devices
    assert len(chart.picture) < 1_000_000
    assert chart.picture.count('class="double"') == 9
    assert chart.picture.count('class="empty-lane"') == len(chart.rows) <= device_lanes.LANES_MAX
    assert "put together" in chart.note
    assert sum(int(row[-1]) for row in chart.rows) == 9
    assert sum(int(row[2].replace(",", "")) for row in chart.rows) == 20_000


def test_many_double_allocations_of_a_lane_have_a_mark_for_each_part(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_lanes, "ROWS_MAX", 3)
    text = " ".join(f"a{n}+D1 b{n}+D1 a{n}-D1 b{n}-D1" for n in range(9))
    chart = run_charts.draw(_source(tmp_path, text)).devices
    counted = re.findall(r"<title>(\d+) double allocations</title>", chart.picture)
    assert sum(map(int, counted)) == 9


@pytest.mark.parametrize(
    ("devices", "pools", "noun"), [(5, 5, "device"), (300, 3, "pool"), (400, 400, "group of pools")]
)
def test_lanes_are_bounded(devices: int, pools: int, noun: str) -> None:
    names = sorted(f"driver/pool-{number % pools:04}/device-{number}" for number in range(devices))
    found, lanes = device_lanes._grouped(names)
    assert found == noun
    assert len(lanes) == devices
    assert len(set(lanes)) <= device_lanes.LANES_MAX


# ---------------------------------------------------------------------------------- other charts


def test_plots_begin_with_the_first_object_of_the_load(tmp_path: pathlib.Path) -> None:
    source = _source(tmp_path, ".500 a+D1 .499 b+D2")
    picture = run_charts.draw(source).held.picture
    [low] = re.findall(r'data-low="([\d.]+)"', picture)
    [high] = re.findall(r'data-high="([\d.]+)"', picture)
    assert 0.4 < float(low) < float(high)


def test_phases_are_shaded_and_named(tmp_path: pathlib.Path) -> None:
    phase = records.Phase(name="load", ts_ns=language.at(50), detail="<b>")
    source = _source(tmp_path, "a+D1 .99 b+D2", damages.before_the_end(phase))
    picture = run_charts.draw(source).held.picture
    assert "phase “load” from" in picture
    assert "&lt;b&gt;" in picture


def test_pods_wait_until_they_run_or_are_gone(tmp_path: pathlib.Path) -> None:
    source = _source(tmp_path, "p:a q:b r:c .10 p* .10 q~ .10 a+D1 .10")
    chart = run_charts.draw(source).waiting
    levels = [int(row[1]) for row in chart.rows]
    assert max(levels) == 3
    assert levels[-1] == 1


def _call(op: int, status: int | None, at: int, name: str = "x") -> list[records.Body]:
    outcome = "ok" if status == 200 else "fail"
    begun = records.Invocation(
        op=op, user="u", verb="update", resource="pods", namespace="n", name=name, ts_ns=at
    )
    return [begun, records.Completion(op=op, outcome=outcome, ts_ns=at + 1, status=status)]


def test_calls_by_code_and_retries(tmp_path: pathlib.Path) -> None:
    calls = [(409, "x"), (200, "x"), (200, "x"), (429, "y"), (None, "z"), (503, "z"), (200, "z")]
    body = [
        record
        for number, (status, name) in enumerate(calls)
        for record in _call(900 + number, status, language.at(number), name)
    ]
    source = _source(tmp_path, "a+D1 .20", damages.appended(damages.operations, *body))
    found = run_charts.read(source.history)
    counts = {code: len(times) for code, times in found.by_code.items()}
    assert {code: counts[code] for code in ("409", "429", "503", "no answer")} == {
        "409": 2,
        "429": 1,
        "503": 1,
        "no answer": 1,
    }
    assert len(found.retries) == 3
    [_, chart] = run_charts.draw(source).calls
    assert chart.legend == [
        "409 conflict (2)",
        "429 too many requests (1)",
        "503 (1)",
        "no answer (1)",
        "retries (3)",
    ]


def test_many_codes_share_a_line() -> None:
    found = run_charts.Calls()
    for code in range(400, 420):
        found.by_code[str(code)] += [1] * (code - 399)
    axis = time_plots.axis(
        started_ns=0, ended_ns=9, phases=[], faults=_no_faults(), first_object_ns=0
    )
    [_, chart] = run_charts.over_time(axis, found)
    assert len(chart.legend) <= series_charts.LINES_MAX
    assert chart.legend[-1].startswith("other codes (")


def _no_faults() -> fault_records.FaultRecords:
    return fault_records.FaultRecords()


def test_the_table_of_a_chart_has_its_numbers(tmp_path: pathlib.Path) -> None:
    charts = run_charts.draw(_source(tmp_path, "a+D1 .99 b+D2 .99 a-D1 .99"))
    assert max(int(row[1]) for row in charts.held.rows) == 2
    assert len(charts.held.rows) <= series_charts.ROWS_MAX
    for chart in (charts.held, charts.throughput, charts.waiting):
        assert len(chart.header) == len(chart.rows[0])


def test_nothing_measured_is_said(tmp_path: pathlib.Path) -> None:
    found = latency_charts.waits([], started_ns=0)
    source = _source(tmp_path, "p*")
    axis = time_plots.axis(
        started_ns=source.started_ns,
        ended_ns=source.ended_ns,
        phases=[],
        faults=source.faults,
        first_object_ns=None,
    )
    over_time, histogram = latency_charts.latencies(axis, found, "From here to there")
    assert histogram.note == "Nothing was measured."
    assert "–" in {row[1] for row in over_time.rows}
