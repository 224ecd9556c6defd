"""Whole runs with further kinds of pools and claims: the judge of consumption, and its page."""

import json
import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.checks.consumption import device_consumption
from harness.history import directories
from tests.e2e import running

pytestmark = pytest.mark.e2e
SMALL = (
    *("--set", "traffic.duration_s=1", "--set", "load.allocations_min=30"),
    *("--set", "load.pods_running_min=20", "--set", "load.reuse_min=1"),
)


def test_counters_of_one_node_are_found_and_their_objects_named(tmp_path: pathlib.Path) -> None:
    code, output = running.run(
        tmp_path, "run", "driver-limits", "--defect", "counters-of-one-node", "--until-found"
    )
    assert code == verdicts.Verdict.INVALID.exit_code, output
    directory = running.run_directory(tmp_path)
    [found] = [
        check
        for check in judging.judge(directories.existing(directory)).checks
        if check.check == device_consumption.NAME
    ]
    page = (directory / "report.html").read_text()
    for item in found.violations[0].objects:
        assert item.name in output
        assert item.name in page


def test_the_correct_subject_is_valid_on_devices_of_all_kinds(tmp_path: pathlib.Path) -> None:
    code, output = running.run(tmp_path, "run", "partitions", *SMALL)
    assert code == 0, output
    document = json.loads((running.run_directory(tmp_path) / "verdict.json").read_text())
    checks = {check["check"]: check for check in document["checks"]}
    assert checks[device_consumption.NAME]["verdict"] == "VALID"
    assert " shares of devices and " in checks[device_consumption.NAME]["reason"]
