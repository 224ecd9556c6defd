"""Metrics of runs and campaigns, read by Prometheus' own parser."""

import pathlib
import socket
import urllib.request
from typing import Any

import pytest
from prometheus_client import parser

from harness import errors
from harness.checks import judging
from harness.cli.terminal import outputs
from harness.cli.watching import metrics_serving
from harness.history import directories
from harness.metrics import metric_families
from harness.run import progressing
from tests.histories import building

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "device_exclusivity" / "INVALID"


def parsed(text: str) -> dict[str, Any]:
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def scraped(metrics: metrics_serving.Metrics) -> dict[str, Any]:
    return parsed(metric_families.render(metrics.collect()))


def value(families: dict[str, Any], name: str, sample: str = "", **labels: str) -> float:
    found = [
        item.value
        for item in families[name].samples
        if labels.items() <= item.labels.items() and item.name == (sample or item.name)
    ]
    assert found, f"no {name} with {labels}"
    return float(sum(found))


def test_the_metrics_of_a_run_are_those_of_its_verdict() -> None:
    figures = judging.examine(directories.existing(GOLDEN)).judgement.figures
    metrics = metrics_serving.RunMetrics()
    metrics.follow(GOLDEN)
    families = scraped(metrics)
    metrics.close()
    assert value(families, "flake_hunt_claims_created") == figures.claims
    assert value(families, "flake_hunt_holds") == figures.allocations
    doubles = value(families, "flake_hunt_double_allocations")
    assert doubles == figures.double_allocations > 0
    ended = value(families, "flake_hunt_api_calls")
    assert 0 < value(families, "flake_hunt_api_calls", outcome="ok") < ended
    durations = "flake_hunt_api_call_duration_seconds"
    assert value(families, durations, f"{durations}_count") == ended
    assert value(families, durations, f"{durations}_bucket", le="+Inf") == ended
    assert families["flake_hunt_double_allocations"].type == "counter"
    assert value(families, "process_resident_memory_bytes") > 2**20


def test_every_name_is_of_one_family_and_counters_end_with_total() -> None:
    metrics = metrics_serving.RunMetrics()
    metrics.follow(GOLDEN)
    families = metrics.collect()
    metrics.close()
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    for family in families:
        assert family.name.endswith("_total") == (family.kind == "counter")


def test_before_the_plan_there_are_the_process_and_the_progress(tmp_path: pathlib.Path) -> None:
    metrics = metrics_serving.RunMetrics()
    progress = metrics.passing_on(progressing.Silent())
    metrics.follow(tmp_path)
    assert "flake_hunt_run_info" not in scraped(metrics)
    progress.phase("load")
    progress.advance(47, 200, "pods have run")
    families = scraped(metrics)
    assert value(families, "flake_hunt_phase_done", unit="pods have run") == 47
    assert value(families, "flake_hunt_phase_goal") == 200
    progress.phase("stopping")
    assert "flake_hunt_phase_goal" not in scraped(metrics)
    building.build(tmp_path / "run", "a+D1")
    metrics.follow(tmp_path / "run")
    assert value(scraped(metrics), "flake_hunt_holds_open") == 1
    metrics.close()


def test_they_are_served_and_said_where(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = metrics_serving.RunMetrics()
    metrics.follow(GOLDEN)
    with metrics_serving.serving(0, metrics, outputs.Output()):
        where = capsys.readouterr().out.removeprefix("metrics: ").strip()
        with urllib.request.urlopen(where, timeout=20) as answer:
            families = parsed(answer.read().decode())
    assert value(families, "flake_hunt_run_info") == 1
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(where, timeout=20)


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(errors.UsageError, match=f"a free port for --metrics-port, got {port}"),
            metrics_serving.serving(port, metrics_serving.RunMetrics(), outputs.Output()),
        ):
            pytest.fail("the port is taken")
