"""Whole runs whose API server ends and starts again on its data: everything goes on, and the
recorder misses nothing.

A kill may lose the answer to a committed status write, which makes kube-scheduler's algorithm
allocate a device twice: the tests are about the evidence, not about the verdict.
"""

import pathlib
from collections.abc import Sequence

import pytest

from harness import clocks, processes
from harness.checks import judging, verdict_files, verdicts
from harness.history import directories, journal_reader, records
from tests.e2e import running

pytestmark = [
    pytest.mark.e2e,
    # Connections of threads that watched or counted end with their threads.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
ON_DISK = ("--cluster", "storage=disk")
FAULTS = """
[[faults]]
kind = "restart-api-server"
kill = {kill}
times = 3
interval_s = 1
start_s = 0.5
[[faults]]
kind = "delay-events"
seconds = 0.05
on = {{ resource = "resourceclaims" }}
"""
FEW = ("traffic.duration_s=8", "traffic.users=6", "traffic.hold_s=0.1", "traffic.wait_s=20")
REMEDIES = ("--remedy", "keep-in-flight-until-known", "--remedy", "bind-again-until-known")
LATE_S = 0.4
"""Time from the begin of a restart to the end of the API server, as an engine takes it."""


def judged(folder: pathlib.Path, *arguments: str) -> verdict_files.Judgement:
    """Make a run whose evidence is complete."""
    code, output = running.called(folder, "run", *arguments, *ON_DISK, "--seed", "7")
    assert code in (0, 10), output
    judgement = judging.judge(directory(folder))
    assert [item for item in judgement.certificate if not item.ok] == []
    return judgement


def directory(folder: pathlib.Path) -> directories.RunDirectory:
    (plan,) = folder.glob("reports/*/*/plan.json")
    return directories.existing(plan.parent)


def statuses(folder: pathlib.Path) -> set[int | None]:
    """The statuses of all calls; None: no answer came."""
    return {
        item.status
        for path in directory(folder).path.glob("operations-*")
        for item in journal_reader.read(path).records
        if isinstance(item, records.Completion)
    }


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kill", ["true", "false"])
def test_a_run_goes_on_when_its_api_server_comes_back_under_its_faults(
    tmp_path: pathlib.Path, kill: str
) -> None:
    scenario = running.scenario(tmp_path)
    scenario.write_text(scenario.read_text() + FAULTS.format(kill=kill))
    settings = [word for value in FEW for word in ("--set", value)]
    judged(tmp_path, str(scenario), *settings)
    assert None in statuses(tmp_path), "every call was answered"
    body = journal_reader.read(directory(tmp_path).faults).records
    hit = [item for item in body if isinstance(item, records.FaultApplied)]
    restarts = [item for item in hit if item.process == "api-server"]
    late = [item.begun_ns for item in hit if item.fault == "delay-events"]
    assert len(restarts) == 3
    assert min(late) < restarts[0].begun_ns
    assert max(late) > (restarts[-1].ended_ns or 0)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("remedies", [REMEDIES, ()])
def test_an_api_server_that_ends_late_and_refuses_everyone_after_its_start(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, remedies: Sequence[str]
) -> None:
    """As kind's does. Without remedies an answer that is lost may lead to a violation (H1, H11)."""
    end = processes.Process.end

    def end_late(process: processes.Process, *, kill: bool, timeout_s: float) -> None:
        clocks.sleep(LATE_S)
        end(process, kill=kill, timeout_s=timeout_s)

    monkeypatch.setattr(processes.Process, "end", end_late)
    options = ("--set", "traffic.duration_s=4", "--cluster", "roles_late_s=0.5", *remedies)
    judgement = judged(tmp_path, "api-server-restart", *options)
    (item,) = [item for item in judgement.certificate if item.name == "faults"]
    assert item.reason == "api-server-killed: 5 times; healed"
    assert 403 in statuses(tmp_path), "no client was refused"
    if remedies:
        assert judgement.verdict is verdicts.Verdict.VALID, judgement.reason
    (progress,) = [item for item in judgement.checks if item.check == "claim_progress"]
    assert progress.verdict is verdicts.Verdict.VALID, progress.reason
