"""A kube-controller-manager is the claim controller of a run: its faults reach it, and the verdict
comes from the record alone.
"""

import json
import pathlib

import pytest

from harness.history import directories, journal_reader, plans, records
from tests.e2e import running
from tests.stand_ins import commands
from tests.support import real_programs

pytestmark = pytest.mark.e2e
NAME, PROGRAM = "claim-controller", "kube-controller-manager"
SCENARIO = """
schema_version = 1
name = "small"
title = "claims from templates"
description = "for tests"
[pools]
nodes = 2
devices_per_node = 3
[traffic]
profile = "churn"
processes = 1
users = 8
duration_s = 4.0
hold_s = 0.1
wait_s = 15.0
[claim]
parameters = { mode = "fast" }
[subject]
backoff_initial_s = 0.02
backoff_max_s = 0.1
[[faults]]
kind = "lose-response"
name = "answers-lost"
times = 3
on = { role = "claim-controller", resource = "resourceclaims", verbs = ["create"] }
[[faults]]
kind = "kill-process"
role = "claim-controller"
start_s = 1.0
down_s = 0.2
[[faults]]
kind = "pause-process"
role = "claim-controller"
start_s = 2.5
seconds = 0.3
[limits]
progress_s = 15
[load]
allocations_min = 10
pods_running_min = 10
"""


@pytest.fixture(params=["stand-in", "real"])
def program(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> pathlib.Path:
    if request.param == "stand-in":
        return commands.install(tmp_path / "binaries", PROGRAM)
    found = real_programs.find(PROGRAM)
    if found is None:
        pytest.skip(real_programs.missing(PROGRAM))
    return found


@pytest.mark.parametrize("carrier", ["server", "proxy"])
def test_faults_reach_a_kube_controller_manager(
    tmp_path: pathlib.Path, program: pathlib.Path, carrier: str
) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    options = ("--claim-controller", f"{PROGRAM}={program}", "--fault-carrier", carrier)
    _, output = running.called(tmp_path, "run", "small.toml", *options)
    directory = directories.existing(running.run_directory(tmp_path))
    judged = json.loads((directory.path / "verdict.json").read_text())
    assert [item for item in judged["certificate"] if not item["ok"]] == [], output
    plan = plans.read(directory.plan)
    assert plan.versions[NAME].startswith(f"{PROGRAM} v1.")
    assert plan.carrier == carrier
    assert f"python + {plan.versions[NAME]}" in output
    applied = journal_reader.read(directory.faults).records
    hit = [item for item in applied if isinstance(item, records.FaultApplied)]
    assert [(item.client, item.verb) for item in hit if item.fault == "answers-lost"] == [
        (NAME, "create")
    ] * 3
    ends = journal_reader.read(directory.processes).records
    ended = {item.process: item for item in ends if isinstance(item, records.ProcessEnded)}
    assert ended[NAME].fault == "kill-process"
    assert ended[f"{NAME}.2"].expected
    log = directory.log(f"{NAME}.2").read_text()
    assert "panic" not in log


def test_one_that_ends_at_once_is_named(tmp_path: pathlib.Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(
        '#!/bin/sh\ntest "$1" = --version && echo Kubernetes v1.36.0 && exit\nexit 1\n'
    )
    broken.chmod(0o755)
    (tmp_path / "small.toml").write_text(SCENARIO)
    options = ("--claim-controller", f"{PROGRAM}={broken}")
    code, output = running.called(tmp_path, "run", "small.toml", *options)
    assert code == 2, output
    assert "expected claim-controller to run" in output
