"""Two schedulers on one cluster: they double-allocate, unless each has devices of its own."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.checks.schedulers import scheduler_exclusivity
from harness.history import directories
from tests.e2e import running

pytestmark = pytest.mark.e2e

TWO = ("--set", "subject.schedulers=[{kind='python'}, {kind='python'}]")


def test_uncoordinated_schedulers_are_found_and_both_are_named(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    code, output = running.run(tmp_path, "run", scenario, *TWO, "--until-found")
    assert code == verdicts.Verdict.INVALID.exit_code, output
    (line,) = [line for line in output.splitlines() if "uncoordinated schedulers" in line][:1]
    assert "kubernetes#128980" in line
    assert "scheduler (flake-hunt) allocated it" in line or "scheduler (flake-hunt) to" in line
    assert "scheduler-2 (flake-hunt-2)" in line
    judgement = judging.judge(directories.existing(running.run_directory(tmp_path)))
    assert judgement.violations_of(scheduler_exclusivity.NAME) == 0


def test_with_devices_of_their_own_they_are_valid(tmp_path: pathlib.Path) -> None:
    scenario, own = str(running.scenario(tmp_path)), ("--set", "subject.own_devices=true")
    code, output = running.run(tmp_path, "run", scenario, *TWO, *own)
    assert code == 0, output
    assert "no scheduler gave a device to two claims" in output
