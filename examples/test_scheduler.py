"""Tests of a scheduler with Flake Hunt's fixtures: `pytest -n 2`."""

import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
SCHEDULER = f"command={sys.executable} {HERE / 'scheduler.py'} {{kubeconfig}} {{scheduler_name}}"
GO = shutil.which("go")


@pytest.mark.flake_hunt(runs=2)
def test_no_device_is_given_twice(flake_hunt_run):
    run = flake_hunt_run(HERE / "my-scenario.toml", subject=[SCHEDULER])
    assert run.verdict == "VALID", str(run)


@pytest.mark.skipif(GO is None, reason="the scheduler in Go needs the program `go`")
def test_no_device_is_given_twice_by_the_scheduler_in_go(flake_hunt_run, tmp_path):
    program = tmp_path / "scheduler"
    subprocess.run([GO, "build", "-o", program, HERE / "scheduler.go"], check=True)
    subject = f"command={program} {{kubeconfig}} {{scheduler_name}}"
    run = flake_hunt_run(HERE / "my-scenario.toml", subject=[subject])
    assert run.verdict == "VALID", str(run)


def test_my_users_find_a_known_bug(flake_hunt_run):
    """A test that finds nothing is worth something only if it would find a bug."""
    run = flake_hunt_run(
        "pod-churn",
        overrides=[f"traffic.locustfile='{HERE / 'locustfile.py'}'"],
        defects=["gather-not-atomic"],
        until_found=True,
    )
    assert run.verdict == "INVALID", str(run)
    assert run.checks["device_exclusivity"] == "INVALID"
