"""Worker processes of explore: none outlives the one that explores, and one that dies is a clear
message.
"""

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import process
from typing import Any

import psutil
import pytest

from harness import clocks, errors
from harness.cluster import cluster_records
from harness.explore.search import worker_processes

pytestmark = pytest.mark.slow

TIMEOUT_S = 30
EXPLORER = """
import os, signal
from harness.explore.search import worker_processes

if __name__ == "__main__":
    with worker_processes.pool(2) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        signal.pause()
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(cluster_records.MARK, "")  # taken back at the end


def test_they_die_with_the_one_that_explores_even_when_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", EXPLORER], stdout=subprocess.PIPE) as explorer:
        assert explorer.stdout is not None
        worker = psutil.Process(int(explorer.stdout.readline()))
        children = psutil.Process(explorer.pid).children(recursive=True)
        assert worker in children
        owner = cluster_records.owner_of(worker.environ()[cluster_records.MARK])
        assert owner is not None
        assert owner.pid == explorer.pid
        shared = [path for item in worker.memory_maps() if "/dev/shm/" in (path := item.path)]
        assert shared, "semaphores"
        explorer.kill()

    def are_gone() -> bool:
        return not any(
            child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children
        )

    clocks.wait_until(are_gone, timeout_s=TIMEOUT_S, why="workers and the resource tracker to go")
    assert not any(pathlib.Path(path).exists() for path in shared)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_message_to_a_worker_is_not_interrupted(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Half of one would keep everybody waiting for the rest."""
    begun: list[bool] = []
    interrupted = interrupted_in_the_middle(begun, number)
    monkeypatch.setattr(process.ProcessPoolExecutor, "submit", interrupted)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), worker_processes.pool(1) as pool:
            pool.submit(os.getpid)
    finally:
        signal.signal(number, before)
    assert begun == [True]


def interrupted_in_the_middle(begun: list[bool], number: signal.Signals) -> Callable[..., object]:
    submit = process.ProcessPoolExecutor.submit

    def interrupted(*arguments: Any) -> object:
        signal.raise_signal(number)
        begun.append(True)
        return submit(*arguments)

    return interrupted


def test_ctrl_c_is_for_the_one_that_explores() -> None:
    with worker_processes.pool(1) as pool:
        pid = pool.submit(os.getpid).result()
        os.kill(pid, signal.SIGINT)
        assert pool.submit(os.getpid).result() == pid


def test_one_that_dies_is_a_clear_message() -> None:
    with (
        pytest.raises(errors.ProcessError, match="one died"),
        worker_processes.pool(1) as pool,
    ):
        pool.submit(os.kill, pool.submit(os.getpid).result(), signal.SIGKILL).result()
