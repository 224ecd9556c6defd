"""Progress judged in real runs: a scheduler that gives up is STUCK, a correct one is not."""

import json
import pathlib
import sys
import xml.etree.ElementTree as ET

import pytest

from harness.checks import verdicts
from tests.e2e import running
from tests.stand_ins import giving_up_scheduler

pytestmark = pytest.mark.e2e
SCENARIO = pathlib.Path(__file__).with_suffix(".toml").read_text()


def run(folder: pathlib.Path, *options: str) -> tuple[int, str, pathlib.Path]:
    scenario = folder / "small.toml"
    scenario.write_text(SCENARIO)
    code, output = running.called(folder, "run", str(scenario), *options)
    return code, output, running.run_directory(folder)


def test_the_correct_scheduler_is_valid_although_pods_wait(tmp_path: pathlib.Path) -> None:
    code, output, directory = run(tmp_path)
    assert code == 0, output
    checks = {
        item["check"]: item
        for item in json.loads((directory / "verdict.json").read_text())["checks"]
    }
    assert {item["verdict"] for item in checks.values()} == {"VALID"}
    assert checks.keys() >= {
        "device_exclusivity",
        "claim_progress",
        "resource_leaks",
        "claim_controller",
        "leftover_preparations",
    }
    assert "4 pods ran; nothing is stuck, 2 wait" in checks["claim_progress"]["reason"]


def test_a_scheduler_that_gives_up_is_stuck(tmp_path: pathlib.Path) -> None:
    program = f"{sys.executable} {giving_up_scheduler.__file__}"
    command = f"command={program} {{kubeconfig}} {{scheduler_name}} {{namespace}}"
    # As many pods as devices: with more of them, the others might leave no device idle.
    code, output, directory = run(tmp_path, "--subject", command, "--set", "traffic.pods=4")
    assert code == verdicts.Verdict.INVALID.exit_code, output
    told = "STUCK: pod pod-0000 waits while "
    assert told in output
    assert "double allocation" not in output
    assert told in (directory / "report.html").read_text()
    suite = ET.parse(directory / "junit.xml").getroot()
    [case] = suite.findall("testcase[@name='claim_progress']")
    [failure] = case.findall("failure")
    assert failure.get("message", "").startswith(told)
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")


def test_another_program_that_ends_by_itself_ends_the_run_at_once(tmp_path: pathlib.Path) -> None:
    """No time is given to pods without a scheduler, although their progress is judged."""
    program = tmp_path / "scheduler"
    program.write_text("#!/bin/sh\nsleep 2\necho 'panic: nil map' >&2\nexit 2\n")
    program.chmod(0o755)
    command = f"command={program} {{kubeconfig}}"
    code, output, directory = run(tmp_path, "--subject", command, "--set", "limits.progress_s=600")
    assert code == 20, output
    reason = json.loads((directory / "verdict.json").read_text())["reason"]
    assert "scheduler ended unexpectedly or with an error (exit code 2): panic: nil map" in reason
