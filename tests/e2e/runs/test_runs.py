"""Whole runs with real processes: verdicts, deaths and interruptions."""

import os
import pathlib
import signal

import psutil
import pytest

from harness import clocks
from harness.checks import judging, verdict_files, verdicts
from harness.history import directories, journal_reader
from tests.e2e import running
from tests.support import called_commands

pytestmark = pytest.mark.e2e


def judged(path: pathlib.Path) -> verdict_files.Judgement:
    return judging.judge(directories.existing(path))


def test_the_correct_subject_is_valid_and_judged_alike_again(
    tmp_path: pathlib.Path, flake_hunt: called_commands.FlakeHunt
) -> None:
    """Also when a slow cluster needs more time for its load than the scenario wanted. The run keeps
    the scenario, notes its cluster, keeps no credentials, and meets its thresholds.
    """
    scenario = str(running.scenario(tmp_path))
    little = ("--set", "traffic.duration_s=0.1", "--set", "load.allocations_min=80")
    two = ("--set", "traffic.processes=2")
    bounds = ("--threshold", "claims>=80", "--threshold", "pod_to_running.max_ms<=1e9")
    code, output = running.called(tmp_path, "run", scenario, "--seed", "7", *little, *two, *bounds)
    assert code == 0, output
    assert "; 2 thresholds met" in output
    assert output.startswith("seed 7")
    directory = running.run_directory(tmp_path)
    assert (directory / "scenario.toml").read_text() == running.SMALL_SCENARIO
    running.require_noted(directory, "embedded")
    first = (directory / "verdict.json").read_bytes()
    code, output = running.called(tmp_path, "check", str(directory))
    assert (code, (directory / "verdict.json").read_bytes()) == (0, first)
    code, _, complaint = flake_hunt("report", str(directory))
    assert code == 0, complaint
    assert all(page.is_file() for page in directories.RunDirectory(directory).pages())
    lines = running.text(directory / "audit" / "audit.log").encode().splitlines(keepends=True)
    brought = tmp_path / "brought.log"
    brought.write_bytes(b"".join(lines))
    code, output, _ = flake_hunt("check", str(directory), "--witness", str(brought))
    assert code == 0, output
    brought.write_bytes(b"".join(lines[:9] + lines[10:]))
    code, output, _ = flake_hunt("check", str(directory), "--witness", str(brought))
    assert (code, "the audit log has no such write" in output) == (20, True), output
    assert (directory / "verdict.json").read_bytes() == first


def test_a_known_defect_is_found_and_named(tmp_path: pathlib.Path) -> None:
    defect = ("--defect", "gather-not-atomic", "--until-found")
    code, output = running.called(tmp_path, "run", str(running.scenario(tmp_path)), *defect)
    assert code == verdicts.Verdict.INVALID.exit_code, output
    judgement = judged(running.run_directory(tmp_path))
    violation = verdicts.double_allocations(judgement.checks)[0]
    for word in (violation.device, *(holder.name for holder in violation.holders)):
        assert word in output
    assert len({holder.uid for holder in violation.holders}) == 2


@pytest.mark.parametrize(
    "victim",
    ["main part record", "traffic.locust_process", "main part scheduler", "main part apiserver"],
)
def test_a_death_in_mid_run_is_never_valid(tmp_path: pathlib.Path, victim: str) -> None:
    scenario = str(running.scenario(tmp_path))
    with running.started(tmp_path, "run", scenario, "--set", "traffic.duration_s=20") as command:
        command.wait_for_other("traffic.locust_process")
        observations = running.run_directory(tmp_path) / "observations.jsonl"
        clocks.wait_until(
            lambda: observations.is_file() and observations.stat().st_size > 20_000,
            timeout_s=60,
            why="the load to be under way",
        )
        psutil.Process(command.wait_for_other(victim)).kill()
        code = command.wait()
        assert code == verdicts.Verdict.UNKNOWN.exit_code, command.text()
        assert "could not be removed" not in command.text()
        command.require_alone()
    directory = running.run_directory(tmp_path)
    again = judged(directory)
    assert again.verdict.exit_code == code
    assert not {item.name for item in again.certificate if not item.ok}.isdisjoint(
        {"recorder", "operations", "steps"}
    )


def test_an_interruption_keeps_the_evidence_and_leaves_nothing(tmp_path: pathlib.Path) -> None:
    with running.started(tmp_path, "run", str(running.scenario(tmp_path))) as command:
        command.wait_for_other("main part scheduler")
        os.killpg(command.process.pid, signal.SIGINT)
        assert command.wait() == 130, command.text()
        assert "interrupted; the evidence recorded so far is in" in command.text()
        assert "Traceback" not in command.text()
        command.require_alone()
    directory = running.run_directory(tmp_path)
    assert journal_reader.read(directory / "processes.jsonl").trailer is not None
    code, _ = running.called(tmp_path, "check", str(directory))
    assert code == verdicts.Verdict.UNKNOWN.exit_code


def test_nothing_outlives_a_killed_run(tmp_path: pathlib.Path) -> None:
    with running.started(tmp_path, "run", str(running.scenario(tmp_path))) as command:
        command.wait_for_other("traffic.locust_process")
        command.process.kill()
        command.wait()
        command.require_alone()
    code, _ = running.called(tmp_path, "check", str(running.run_directory(tmp_path)))
    assert code == verdicts.Verdict.UNKNOWN.exit_code
