"""Tests of a scheduler with Flake Hunt's fixtures: `pytest -n 2`."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
SCHEDULER = f"command={sys.executable} {HERE / 'scheduler.py'} {{kubeconfig}} {{scheduler_name}}"


@pytest.mark.flake_hunt(runs=2)
def test_no_device_is_given_twice(flake_hunt_run):
    run = flake_hunt_run(HERE / "my-scenario.toml", subject=[SCHEDULER])
    assert run.verdict == "VALID", str(run)


def test_the_scenario_catches_a_known_bug(flake_hunt_run):
    """A test that finds nothing is worth something only if it would find a bug."""
    run = flake_hunt_run("shared-claims", defects=["in-flight-removed-first"], until_found=True)
    assert run.verdict == "INVALID", str(run)
    assert run.checks["device_exclusivity"] == "INVALID"
