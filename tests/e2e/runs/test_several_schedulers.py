"""Two schedulers on one cluster: they double-allocate, unless each has devices of its own."""

import json
import pathlib
import sys

import pytest

from harness.checks import judging, scheduler_attribution, verdicts
from harness.history import directories
from tests.e2e import running

pytestmark = pytest.mark.e2e

TWO = ("--set", "subject.schedulers=[{kind='python'}, {kind='python'}]")


def test_uncoordinated_schedulers_are_found_and_both_are_named(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    code, output = running.called(tmp_path, "run", scenario, *TWO, "--until-found")
    assert code == verdicts.Verdict.INVALID.exit_code, output
    (line,) = [line for line in output.splitlines() if "uncoordinated schedulers" in line][:1]
    assert "kubernetes#128980" in line
    assert "scheduler (flake-hunt) allocated it" in line or "scheduler (flake-hunt) to" in line
    assert "scheduler-2 (flake-hunt-2)" in line
    judgement = judging.judge(directories.existing(running.run_directory(tmp_path)))
    assert judgement.violations_of(scheduler_attribution.SCHEDULER_EXCLUSIVITY.name) == 0


def test_a_race_within_each_scheduler_is_told_apart(tmp_path: pathlib.Path) -> None:
    """With devices of its own for each scheduler, a double allocation is that of one of them."""
    scenario, own = str(running.scenario(tmp_path)), ("--set", "subject.own_devices=true")
    defect = ("--defect", "gather-not-atomic", "--until-found")
    code, output = running.called(tmp_path, "run", scenario, *TWO, *own, *defect)
    assert code == verdicts.Verdict.INVALID.exit_code, output
    judgement = judging.judge(directories.existing(running.run_directory(tmp_path)))
    assert judgement.violations_of(scheduler_attribution.SCHEDULER_EXCLUSIVITY.name) > 0


def test_with_devices_of_their_own_they_are_valid(tmp_path: pathlib.Path) -> None:
    """One of them is any program."""
    scenario, own = str(running.scenario(tmp_path)), ("--set", "subject.own_devices=true")
    program = f"{sys.executable} -m harness.cli.main part scheduler --kubeconfig {{kubeconfig}} --scheduler-name {{scheduler_name}} --set namespace={{namespace}}"
    both = ("--subject", "python", "--subject", f"command={program}")
    code, output = running.called(tmp_path, "run", scenario, *both, *own)
    assert code == 0, output
    directory = running.run_directory(tmp_path)
    verdict = json.loads((directory / "verdict.json").read_text())
    assert {"scheduler_exclusivity": "VALID"}.items() <= {
        item["check"]: item["verdict"] for item in verdict["checks"]
    }.items()
    plan = json.loads((directory / "plan.json").read_text())
    names = [item["scheduler_name"] for item in plan["settings"]["subject"]["schedulers"]]
    assert names == ["flake-hunt", "flake-hunt-2"]
    observed = running.text(directory / "observations.jsonl")
    assert all(f'"schedulerName":"{name}"' in observed for name in names)
    assert (directory / "logs" / "scheduler-2.log").is_file()
