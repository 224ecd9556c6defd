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
SCENARIO = pathlib.Path(__file__).with_suffix(".toml").read_text()


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
