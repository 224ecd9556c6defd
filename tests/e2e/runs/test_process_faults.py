"""Whole runs in which processes are killed, paused, restarted and replaced: the run goes on, every
end is journaled, and the evidence is complete.
"""

import contextlib
import pathlib
import threading
from collections.abc import Callable, Iterator

import psutil
import pytest

from harness import clocks
from harness.checks import verdict_files, verdicts
from harness.history import directories, journal_reader, records
from harness.run import execution, goals, run_plan, run_processes, runs, supervising
from harness.scenario import loading, profiles
from tests.e2e import running

pytestmark = [
    pytest.mark.e2e,
    # Connections of threads that watched or counted end with their threads.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
ELECTION = "subject.leader_election={lease_duration_s=2,renew_deadline_s=1.0,retry_period_s=0.2}"
FEW = ("traffic.users=4", "traffic.hold_s=0.4")
"""Processes die here, not under load."""
TWO = 'subject.schedulers=[{kind="python"},{kind="python"}]'
Faults = Callable[[supervising.Supervisor, run_processes.RunProcesses], None]


class Meddler:
    """Injects faults into one run, from a thread, once its load has begun.

    The load goes on until they are done.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, faults: Faults) -> None:
        self._faults = faults
        self.errors: list[BaseException] = []
        self.threads: list[threading.Thread] = []
        original = execution.Execution._start_traffic

        def start_traffic(run: execution.Execution) -> None:
            original(run)
            thread = threading.Thread(target=self._meddle, args=(run,))
            self.threads.append(thread)
            thread.start()

        monkeypatch.setattr(execution.Execution, "_start_traffic", start_traffic)
        monkeypatch.setattr(goals.PoolChangeGoal, "is_reached", lambda _: self._is_done())

    def _is_done(self) -> bool:
        return bool(self.threads) and not self.threads[0].is_alive()

    def _meddle(self, run: execution.Execution) -> None:
        try:
            clocks.wait_until(lambda: run._pods.ran >= 5, timeout_s=60, why="some pods to run")
            self._faults(run._supervisor, run._processes)
        except BaseException as error:
            self.errors.append(error)


@contextlib.contextmanager
def meddling(monkeypatch: pytest.MonkeyPatch, faults: Faults) -> Iterator[None]:
    """Inject faults in the run of the `with` block; none may fail."""
    meddler = Meddler(monkeypatch, faults)
    yield
    for thread in meddler.threads:
        thread.join()
    assert meddler.threads
    assert meddler.errors == []


def run(tmp_path: pathlib.Path, *overrides: str) -> verdict_files.Judgement:
    loaded = loading.load(
        str(running.scenario(tmp_path)),
        overrides=[*FEW, "traffic.wait_s=20", "traffic.duration_max_s=60", *overrides],
    )
    plan = run_plan.plan(loaded, seed=7, cluster=profiles.load("embedded"))
    return runs.run(loaded, plan, directories.create(tmp_path / "run"))


def ends(tmp_path: pathlib.Path) -> dict[str, records.ProcessEnded]:
    body = journal_reader.read(tmp_path / "run" / "processes.jsonl").records
    return {item.process: item for item in body if isinstance(item, records.ProcessEnded)}


def require_complete(judgement: verdict_files.Judgement) -> None:
    assert [item for item in judgement.certificate if not item.ok] == []
    assert judgement.verdict is not verdicts.Verdict.UNKNOWN


SCHEDULERS = ("scheduler", "scheduler-2")
NAMES = ("scheduler", "claim-controller", "kubelet")


def test_a_run_goes_on_with_processes_that_were_killed_and_started_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faults(supervisor: supervising.Supervisor, started: run_processes.RunProcesses) -> None:
        for number in (2, 3):
            for name in NAMES:
                assert supervisor.kill(supervisor.living(name) or "", fault="crash")
                assert started.start_again(name) == f"{name}.{number}"

    with meddling(monkeypatch, faults):
        require_complete(run(tmp_path))
    found = ends(tmp_path)
    for name in NAMES:
        assert {found[item].fault for item in (name, f"{name}.2")} == {"crash"}
        assert (found[f"{name}.3"].exit_code, found[f"{name}.3"].fault) == (0, "")


def test_a_run_goes_on_with_processes_that_were_paused_or_restarted_and_leaves_nothing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its end, a scheduler that was taken over is still paused."""
    pids: list[int] = []
    others = descendants()  # of fixtures

    def faults(supervisor: supervising.Supervisor, started: run_processes.RunProcesses) -> None:
        for name in NAMES:
            assert supervisor.pause(name, fault="pause")
        clocks.sleep(0.5)
        for name in NAMES:
            supervisor.resume(name)
        for name in NAMES:  # at once: their main threads may not run yet
            assert supervisor.terminate(name, fault="restart")
            started.start_again(name)
        started.start_again("scheduler")
        supervisor.pause("scheduler.2", fault="take-over")
        pids.extend(descendants() - others - templates())

    with meddling(monkeypatch, faults):
        require_complete(run(tmp_path))
    assert all(item.exit_code == 0 for item in ends(tmp_path).values())
    assert len(pids) > len(NAMES)
    assert not any(psutil.pid_exists(pid) for pid in pids)


def descendants() -> set[int]:
    return {item.pid for item in psutil.Process().children(recursive=True)}


def templates() -> set[int]:
    children = psutil.Process().children()
    return {item.pid for item in children if "harness.cli.template" in item.cmdline()}


@pytest.mark.parametrize("end", ["kill", "pause"])
def test_a_scheduler_that_stands_by_takes_over(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    def faults(supervisor: supervising.Supervisor, started: run_processes.RunProcesses) -> None:
        wait_for(lambda: any(leads(tmp_path, name) for name in SCHEDULERS))
        leader = "scheduler" if leads(tmp_path, "scheduler") else "scheduler-2"
        if end == "kill":
            supervisor.kill(leader, fault="crash")
        else:
            supervisor.pause(leader, fault="pause")
        wait_for(lambda: all(leads(tmp_path, name) for name in SCHEDULERS))
        if end == "kill":
            started.start_again(leader)
        else:
            supervisor.resume(leader)
            wait_for(lambda: supervisor.living(leader) == f"{leader}.2")

    with meddling(monkeypatch, faults):
        require_complete(run(tmp_path, TWO, ELECTION))
    found = ends(tmp_path)
    first = next(name for name in SCHEDULERS if f"{name}.2" in found)
    if end == "kill":
        assert (found[first].fault, found[first].lease_lost) == ("crash", False)
    else:
        assert (found[first].exit_code, found[first].lease_lost) == (1, True)
        log = (tmp_path / "run" / "logs" / f"{first}.log").read_text()
        assert log == "flake-hunt scheduler: leaderelection lost\n"


def wait_for(condition: Callable[[], bool]) -> None:
    clocks.wait_until(condition, timeout_s=40, why="schedulers to lead")


def leads(tmp_path: pathlib.Path, process: str) -> bool:
    steps = (tmp_path / "run" / f"steps-{process}.jsonl").read_text()
    return "leader-election.acquired" in steps
