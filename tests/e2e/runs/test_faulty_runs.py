"""Runs with faults: what the scenario asks for happens, is recorded alike, and is healed."""

import collections
import os
import pathlib
import signal

import psutil
import pytest

from harness import clocks
from harness.checks import judging, verdicts
from harness.history import directories, journal_reader, plans, records
from tests.e2e import running

pytestmark = pytest.mark.e2e

HEAD = """
schema_version = 1
name = "small"
title = "faults"
description = "for tests"
[pools]
nodes = 2
devices_per_node = 3
[traffic]
profile = "churn"
processes = 1
users = 5
duration_s = 4.0
duration_max_s = 20.0
hold_s = 0.2
wait_s = 20.0
[subject]
backoff_initial_s = 0.02
backoff_max_s = 0.1
[load]
allocations_min = 20
pods_running_min = 20
"""
TRAFFIC = pathlib.Path(__file__).with_suffix(".toml").read_text()
ROLES = ("scheduler", "claim-controller", "kubelet")
PROCESSES = """
[[faults]]
kind = "kill-process"
name = "kill-{role}"
role = "{role}"
start_s = 0.5
down_s = 0.1
times = 2
[[faults]]
kind = "pause-process"
name = "pause-{role}"
role = "{role}"
seconds = 0.5
start_after = {{ fault = "kill-{role}", applied = 2 }}
start_s = 0.3
[[faults]]
kind = "restart-process"
name = "restart-{role}"
role = "{role}"
start_after = {{ fault = "pause-{role}", applied = 1 }}
start_s = 0.7
"""
TOUCH = """
[[faults]]
kind = "touch-objects"
resource = "resourceclaims"
"""
LEADERS = (
    *("--set", "subject.schedulers=[{kind='python'}, {kind='python'}]"),
    "--set",
    "subject.leader_election={lease_duration_s=2, renew_deadline_s=1.0, retry_period_s=0.2}",
)


def scenario(folder: pathlib.Path, faults: str) -> str:
    path = folder / "small.toml"
    path.write_text(HEAD + faults)
    return str(path)


def read(folder: pathlib.Path) -> tuple[plans.Plan, list[records.Body]]:
    directory = directories.existing(running.run_directory(folder))
    journal = journal_reader.read(directory.faults)
    assert journal.trailer is not None
    return plans.read(directory.plan), journal.records


def applications(body: list[records.Body]) -> list[records.FaultApplied]:
    return [item for item in body if isinstance(item, records.FaultApplied)]


def hit(body: list[records.Body]) -> collections.Counter[tuple[str, ...]]:
    """The number of effects by fault, client, resource, subresource and effect."""
    return collections.Counter(
        (item.fault, item.client, item.resource, item.subresource, item.detail)
        for item in applications(body)
    )


def run(folder: pathlib.Path, faults: str, *options: str) -> tuple[plans.Plan, list[records.Body]]:
    """Run a scenario that is VALID in spite of its faults, because nothing of H1 is left."""
    folder.mkdir(exist_ok=True)
    remedy = ("--remedy", "keep-in-flight-until-known")
    code, output = running.called(folder, "run", scenario(folder, faults), *remedy, *options)
    assert code == 0, output
    assert "Traceback" not in output
    return read(folder)


@pytest.fixture(scope="module")
def through_server(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("server")
    run(folder, TRAFFIC, "--fault-carrier", "server")
    return folder


def test_every_kind_of_traffic_takes_effect_as_often_as_planned(
    through_server: pathlib.Path,
) -> None:
    plan, body = read(through_server)
    counts = collections.Counter(item.fault for item in applications(body))
    wanted = {fault.name: fault.rule["count"] for fault in plan.faults if fault.required}
    assert {name: counts[name] for name in wanted} == wanted
    windows = {item.fault: item for item in body if isinstance(item, records.FaultWindow)}
    assert {name: item.applied_count for name, item in windows.items() if item.applied_count} == (
        dict(counts)
    )
    assert {item.error for item in windows.values()} == {""}
    for item in applications(body):
        window = windows[item.fault]
        assert window.begun_ns <= item.begun_ns <= (item.ended_ns or 0) <= window.ended_ns


def test_an_effect_names_the_object_that_was_hit(through_server: pathlib.Path) -> None:
    _, body = read(through_server)
    lost = [item for item in applications(body) if item.fault == "lose-response"]
    assert all(item.uid and item.resource_version and item.namespace for item in lost)
    assert len({item.resource_version for item in lost}) == 3


def test_the_same_scenario_bites_alike_through_the_proxy(
    through_server: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    plan, body = run(tmp_path, TRAFFIC, "--fault-carrier", "proxy")
    assert plan.carrier == "proxy"
    optional = {fault.name for fault in plan.faults if not fault.required}
    mine, other = hit(body), hit(read(through_server)[1])
    assert {key: count for key, count in mine.items() if key[0] not in optional} == {
        key: count for key, count in other.items() if key[0] not in optional
    }


def ended(folder: pathlib.Path, faults: str, *options: str) -> dict[str, records.ProcessEnded]:
    """Return the ends of the processes of a run whose evidence is complete, and which leaves none.

    A scheduler that dies with a write under way may lead to a violation (H3).
    """
    code, output = running.run(folder, "run", scenario(folder, faults), *options)
    assert code in (0, 10), output
    directory = directories.existing(running.run_directory(folder))
    assert [item for item in judging.judge(directory).certificate if not item.ok] == []
    log = journal_reader.read(directory.processes).records
    return {item.process: item for item in log if isinstance(item, records.ProcessEnded)}


def test_a_run_goes_on_with_processes_that_are_killed_paused_and_restarted(
    tmp_path: pathlib.Path,
) -> None:
    found = ended(tmp_path, "".join(PROCESSES.format(role=role) for role in ROLES) + TOUCH)
    for role in ROLES:
        assert {found[it].fault for it in (role, f"{role}.2")} == {f"kill-{role}"}
        assert (found[f"{role}.3"].exit_code, found[f"{role}.3"].fault) == (0, f"restart-{role}")
        assert (found[f"{role}.4"].exit_code, found[f"{role}.4"].fault) == (0, "")
    plan, body = read(tmp_path)
    assert plan.carrier == ""
    counts = collections.Counter(item.fault for item in applications(body))
    assert counts.pop("touch-objects") > 10
    assert counts == {f"{what}-{role}": 1 + (what == "kill") for what in ENDS for role in ROLES}
    assert "fault-proxy" not in found


ENDS = ("kill", "pause", "restart")


@pytest.mark.parametrize(
    "fault",
    ['kind = "kill-process"\ndown_s = 4', 'kind = "pause-process"\nseconds = 4'],
    ids=["killed", "paused"],
)
def test_a_scheduler_that_stands_by_takes_over(tmp_path: pathlib.Path, fault: str) -> None:
    faults = f'[[faults]]\nname = "away"\nrole = "scheduler"\nstart_s = 1.0\n{fault}\n'
    found = ended(tmp_path, faults, *LEADERS, "--set", "traffic.duration_s=8")
    run = directories.existing(running.run_directory(tmp_path))
    for name in ("scheduler", "scheduler-2"):
        assert "leader-election.acquired" in running.text(run.path / f"steps-{name}.jsonl")
    first = next(name for name in ("scheduler", "scheduler-2") if f"{name}.2" in found)
    if "kill" in fault:
        assert (found[first].fault, found[first].lease_lost) == ("away", False)
    else:
        assert (found[first].exit_code, found[first].lease_lost) == (1, True)
        log = running.text(run.logs / f"{first}.log")
        assert log == "flake-hunt scheduler: leaderelection lost\n"


def test_a_nemesis_says_what_it_drew(tmp_path: pathlib.Path) -> None:
    faults = '[[faults]]\nkind = "nemesis"\nname = "chaos"\nwithin_s = 2'
    code, output = running.called(tmp_path, "run", scenario(tmp_path, faults), "--seed", "3")
    assert code in {verdict.exit_code for verdict in verdicts.Verdict}, output
    assert "Traceback" not in output
    plan, _ = read(tmp_path)
    assert len(plan.faults) == 6
    assert {fault.drawn_by for fault in plan.faults} == {"chaos"}
    for fault in plan.faults:
        assert f"{fault.name}: {fault.text}" in output
    judgement = judging.judge(directories.existing(running.run_directory(tmp_path)))
    for item in judgement.certificate:
        assert item.ok or item.reason


@pytest.mark.parametrize("carrier", ["server", "proxy"])
def test_an_interruption_in_mid_fault_leaves_nothing(tmp_path: pathlib.Path, carrier: str) -> None:
    faults = """
        [[faults]]
        kind = "delay-request"
        seconds = 60
        on = { resource = "resourceclaims", subresource = "status" }
        [[faults]]
        kind = "pause-process"
        role = "kubelet"
        seconds = 20
    """
    path = scenario(tmp_path, faults)
    with running.started(tmp_path, "run", path, "--fault-carrier", carrier) as command:
        command.wait_for_other("traffic.locust_process")
        clocks.wait_until(
            lambda: "on: delay-request, pause-process" in command.text(),
            timeout_s=60,
            why="both faults",
        )
        os.killpg(command.process.pid, signal.SIGINT)
        assert command.wait() == 130, command.text()
        assert "Traceback" not in command.text()
        command.require_alone()
    _, body = read(tmp_path)
    assert {item.fault for item in body if isinstance(item, records.FaultWindow)} == {
        "delay-request",
        "pause-process",
    }
    kept = list(running.run_directory(tmp_path).rglob("*kubeconfig*"))
    assert kept == []


def test_a_proxy_that_dies_ends_the_run_and_the_record_says_so(tmp_path: pathlib.Path) -> None:
    path = scenario(tmp_path, '[[faults]]\nkind = "delay-events"\nseconds = 0.1')
    with running.started(tmp_path, "run", path, "--fault-carrier", "proxy") as command:
        clocks.wait_until(
            lambda: "on: delay-events" in command.text(), timeout_s=60, why="the fault"
        )
        psutil.Process(command.wait_for_other("main part fault-proxy")).kill()
        assert command.wait() == verdicts.Verdict.UNKNOWN.exit_code, command.text()
        assert "Traceback" not in command.text()
        assert "fault-proxy ended with signal 9" in command.text()
        command.require_alone()
    _, body = read(tmp_path)
    [window] = [item for item in body if isinstance(item, records.FaultWindow)]
    assert "the carrier does not answer" in window.error
    assert not list(running.run_directory(tmp_path).rglob("kubeconfig*"))
