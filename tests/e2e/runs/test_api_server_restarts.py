"""A whole run whose API server is killed and started again on its data: everything goes on, and the
recorder misses nothing. (`test_faulty_runs` has one whose API server is stopped in an orderly way.)

A kill may lose the answer to a committed status write, which makes kube-scheduler's algorithm
allocate a device twice: the tests are about the evidence, not about the verdict.
"""

import contextlib
import pathlib
import threading
from collections.abc import Iterator, Sequence

import pytest

from harness import clocks, processes
from harness.checks import verdict_files, verdicts
from harness.cluster import interfaces
from harness.cluster.lifecycle import held_clusters
from harness.history import directories, journal_reader, records
from harness.run import run_plan, runs
from harness.scenario import loading, profiles
from tests.e2e import running

pytestmark = [
    pytest.mark.e2e,
    # Connections of threads that watched or counted end with their threads.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
RESTARTS = 3


@contextlib.contextmanager
def restarting(cluster: interfaces.Cluster, directory: directories.RunDirectory) -> Iterator[None]:
    """Kill and restart the API server during the load; every restart must succeed."""
    over, restarted = threading.Event(), []

    def restart() -> None:
        processes = directory.processes
        clocks.wait_until(
            lambda: processes.exists() and b'"load"' in processes.read_bytes(),
            timeout_s=60,
            why="the load",
        )
        while len(restarted) < RESTARTS and not over.wait(1.0):
            cluster.restart_api_server(kill=True, down_s=0.3)
            restarted.append(clocks.monotonic_ns())

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert len(restarted) == RESTARTS


@pytest.mark.timeout(240)
def test_a_run_goes_on_when_its_api_server_comes_back(tmp_path: pathlib.Path) -> None:
    profile = profiles.load("embedded", overrides=['storage="disk"'])
    loaded = loading.load(
        str(running.scenario(tmp_path)),
        overrides=[
            "traffic.duration_s=8",
            "traffic.users=6",
            "traffic.hold_s=0.1",
            "traffic.wait_s=20",
        ],
    )
    plan = run_plan.plan(loaded, seed=7, cluster=profile)
    directory = directories.create(tmp_path / "run")
    (tmp_path / "cluster").mkdir()
    request = interfaces.ClusterRequest(name="restarted", directory=tmp_path / "cluster")
    with held_clusters.held(profile, request) as cluster, restarting(cluster, directory):
        judgement = runs.run(loaded, plan, directory, cluster=cluster)
    assert [item for item in judgement.certificate if not item.ok] == []
    assert judgement.verdict is not verdicts.Verdict.UNKNOWN
    gaps = reason(judgement, "no-gaps")
    assert "commits observed" in gaps
    assert [item for item in completions(directory) if item.status is None], (
        "every call was answered"
    )


REMEDIES = ("keep-in-flight-until-known", "bind-again-until-known")
LATE_S = 0.4
"""Time from the begin of a restart to the end of the API server, as an engine takes it."""


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
    profile = profiles.load("embedded", overrides=['storage="disk"', "roles_late_s=0.5"])
    loaded = loading.load("api-server-restart", overrides=["traffic.duration_s=4"])
    plan = run_plan.plan(loaded, seed=7, cluster=profile, remedies=remedies)
    directory = directories.create(tmp_path / "run")
    (tmp_path / "cluster").mkdir()
    request = interfaces.ClusterRequest(name="late", directory=tmp_path / "cluster")
    with held_clusters.held(profile, request) as cluster:
        judgement = runs.run(loaded, plan, directory, cluster=cluster)
    assert [item for item in judgement.certificate if not item.ok] == []
    assert reason(judgement, "faults") == "api-server-killed: 5 times; healed"
    refused = [item for item in completions(directory) if item.status == 403]
    assert refused, "no client was refused"
    if remedies:
        assert judgement.verdict is verdicts.Verdict.VALID, judgement.reason
    else:
        assert judgement.verdict is not verdicts.Verdict.UNKNOWN
    progress = next(item for item in judgement.checks if item.check == "claim_progress")
    assert progress.verdict is verdicts.Verdict.VALID, progress.reason


def completions(directory: directories.RunDirectory) -> list[records.Completion]:
    return [
        item
        for path in directory.path.glob("operations-*")
        for item in journal_reader.read(path).records
        if isinstance(item, records.Completion)
    ]


def reason(judgement: verdict_files.Judgement, name: str) -> str:
    return next(item.reason for item in judgement.certificate if item.name == name)
