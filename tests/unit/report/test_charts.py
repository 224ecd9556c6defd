"""Charts of a run: their numbers are those of a simple count."""

import pathlib
import random

import numpy as np
import pytest

from harness.checks import judging
from harness.report import binning, charts, evidence
from tests.histories import building, damages

Spans = list[tuple[float, float | None]]


def _source(path: pathlib.Path, text: str, *damage: damages.Damage) -> evidence.Evidence:
    directory = building.build(path / "run", text)
    for do in damage:
        do(directory)
    return evidence.Evidence(judging.examine(directory))


# -------------------------------------------------------------------------------------- binning


def _random_spans(seed: int) -> Spans:
    chance = random.Random(seed)
    spans: Spans = []
    for _ in range(chance.randrange(20)):
        begin = chance.randrange(100)
        end = None if chance.random() < 0.3 else begin + chance.randrange(1, 40)
        spans.append((float(begin), end))
    return spans


def test_the_highest_level_of_each_bin() -> None:
    edges = np.arange(0.0, 101.0, 5.0)
    for seed in range(30):
        spans = _random_spans(seed)
        begins = np.array([begin for begin, _ in spans], dtype=np.float64)
        ends = np.array([end for _, end in spans if end is not None], dtype=np.float64)
        expected = [
            max(
                sum(begin <= at and (end is None or at < end) for begin, end in spans)
                for at in range(int(low), int(low) + 5)
            )
            for low in edges[:-1]
        ]
        assert binning.highest(begins, ends, edges).tolist() == expected


def test_quantiles_of_each_bin() -> None:
    times, values = np.array([1.0, 2.0, 12.0]), np.array([10.0, 20.0, 5.0])
    found = binning.quantiles(times, values, np.array([0.0, 10.0, 20.0, 30.0]), (0.5, 1.0))
    assert found[:, :2].tolist() == [[15.0, 5.0], [20.0, 5.0]]
    assert np.isnan(found[:, 2]).all()


# --------------------------------------------------------------------------------------- charts


def test_the_throughput_is_that_of_all_allocations(tmp_path: pathlib.Path) -> None:
    source = _source(tmp_path, "a+D1 .99 b+D2 .99 a-D1 .99")
    chart = charts.throughput(source)
    seconds = [float(row[0]) for row in chart.rows]
    width = (seconds[-1] - seconds[0]) / (charts.BINS - 1)
    assert sum(float(row[1]) * width for row in chart.rows) == pytest.approx(2, abs=0.05)
