"""A whole run whose API server is killed and started again on its data: everything goes on, and the
recorder misses nothing. (`test_faulty_runs` has one whose API server is stopped in an orderly way.)

A kill may lose the answer to a committed status write, which makes kube-scheduler's algorithm
allocate a device twice: the tests are about the evidence, not about the verdict.
"""

import contextlib
import pathlib
import re
import threading
from collections.abc import Iterator

import pytest

from harness import clocks
from harness.checks import verdict_files, verdicts
from harness.cluster import interfaces
from harness.cluster.lifecycle import held_clusters
from harness.history import directories
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
    assert re.search(r"\b[1-9]\d* with unknown outcome", reason(judgement, "operations"))


def reason(judgement: verdict_files.Judgement, name: str) -> str:
    return next(item.reason for item in judgement.certificate if item.name == name)
