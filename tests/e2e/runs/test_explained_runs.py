"""A run of a kube-scheduler binary that double-allocates: its own log explains the violation."""

import html
import json
import pathlib

import pytest

from tests.e2e import running
from tests.stand_ins import commands, recorded_kube_scheduler

pytestmark = pytest.mark.e2e
SCENARIO = f"""
schema_version = 1
name = "small"
title = "the first pods of a recording"
description = "for tests"
[pools]
nodes = 8
devices_per_node = 10
[traffic]
profile = "all-at-once"
processes = 1
users = 2
pods = {recorded_kube_scheduler.PODS}
[subject]
start = "after-traffic"
[load]
allocations_min = {recorded_kube_scheduler.PODS}
pods_running_min = {recorded_kube_scheduler.PODS}
[limits]
timeout_s = 60
"""


def test_the_log_of_kube_scheduler_explains_the_violation_of_its_run(
    tmp_path: pathlib.Path,
) -> None:
    """The stand-in writes what the real one wrote while it does what the real one did."""
    binary = commands.install(tmp_path / "binaries", "recorded-kube-scheduler")
    (tmp_path / "small.toml").write_text(SCENARIO)
    subject = ("--subject", f"kube-scheduler={binary}")
    code, output = running.called(tmp_path, "run", "small.toml", *subject)
    assert code == 10, output
    directory = running.run_directory(tmp_path)
    judged = json.loads((directory / "verdict.json").read_text())
    [found] = [item for check in judged["checks"] for item in check["violations"]]
    assert found["device"].endswith("/worker-3/worker-3-device-000")
    assert {item["name"] for item in found["holders"]} == {"claim-0001", "claim-0005"}
    page = html.unescape((directory / "report.html").read_text())
    assert "According to the scheduler's log: assume-cache early return." in page
    assert "at least 13.508 ms" in page
    assert "logs/scheduler.log" in page
    code, output = running.called(tmp_path, "explain", str(directory), "--output", "json")
    explained = json.loads(output)
    [same] = explained["double_allocations"]
    assert (code, same["device"], same["signature"]) == (
        10,
        found["device"],
        "assume-cache early return",
    )
