"""Which processes of a run may end, and how that is journaled."""

import errno
import pathlib
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from harness import clocks, errors
from harness.history import directories, journal_reader, journal_writer, records
from harness.run import supervising
from tests.support import cases, ended_processes

TIMEOUT_S = 30.0


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return directories.create(tmp_path / "run")


@pytest.fixture
def deaths() -> list[str]:
    return []


@pytest.fixture
def supervisor(
    directory: directories.RunDirectory, deaths: list[str]
) -> Iterator[supervising.Supervisor]:
    found = supervising.Supervisor(
        directory, run_id="r", cluster=lambda: deaths[0] if deaths else None
    )
    yield found
    found.kill_all()


def start(supervisor: supervising.Supervisor, code: str, *, finite: bool) -> None:
    """Start Python with this code and wait until it has ended."""
    process = supervisor.start("one", [sys.executable, "-c", code], finite=finite)
    clocks.wait_until(lambda: process.poll() is not None, timeout_s=TIMEOUT_S, why="its end")


def test_a_cluster_that_dies_is_told_before_the_processes_that_end_for_want_of_it(
    supervisor: supervising.Supervisor, deaths: list[str]
) -> None:
    def dies() -> bool:
        if not deaths:
            start(supervisor, "raise SystemExit(1)", finite=False)
            deaths.append("etcd ended with signal 9")
        return False

    with pytest.raises(errors.ClusterError, match=r"expected the cluster to live .* etcd ended"):
        supervisor.wait_until(dies, timeout_s=TIMEOUT_S, why="nothing")


def test_a_journal_that_finds_no_room_ends_the_run_and_every_process(
    directory: directories.RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = supervising.Supervisor(directory, run_id="r", cluster=lambda: None)
    wait = [sys.executable, "-c", "import signal; signal.pause()"]
    children = [supervisor.start(name, wait) for name in ("one", "two")]

    def no_room(self: journal_writer.Writer, record: records.Body) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(directory.processes))

    monkeypatch.setattr(journal_writer.Writer, "write", no_room)
    supervisor.phase("load")
    with pytest.raises(
        errors.StorageError, match=r"cannot write .*processes\.jsonl: no space left"
    ):
        supervisor.wait_until(lambda: False, timeout_s=TIMEOUT_S, why="nothing")
    supervisor.kill_all()
    supervisor.close()
    assert all(child.poll() is not None for child in children)
    journal = journal_reader.read(directory.processes)
    assert [type(record) for record in journal.records] == [records.ProcessStarted] * 2
    assert journal.trailer is None  # so the verdict on it is UNKNOWN


# -------------------------------------------------------------------------------- faults

WAIT = [sys.executable, "-c", "import signal; signal.pause()"]
OBEDIENT = [
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); print('up', flush=True); signal.pause()",
]


def ends(directory: directories.RunDirectory) -> list[records.ProcessEnded]:
    body = journal_reader.read(directory.processes).records
    return [record for record in body if isinstance(record, records.ProcessEnded)]


@pytest.mark.parametrize("case", cases.read(__file__, "ends"), ids=lambda case: case["it"])
def test_a_process(
    supervisor: supervising.Supervisor, directory: directories.RunDirectory, case: dict[str, Any]
) -> None:
    def obeys(process: Any) -> None:
        clocks.wait_until(lambda: process.log_tail() == "up", timeout_s=TIMEOUT_S, why="it")

    def dies(how: str) -> None:
        with pytest.raises(errors.ProcessError, match=f"expected one to live .* ended with {how}"):
            supervisor.wait_until(lambda: False, timeout_s=TIMEOUT_S, why="nothing")

    for text in case["do"]:
        step, *words = shlex.split(text)
        acts: dict[str, Callable[[], object]] = {
            "end": lambda: start(supervisor, words[0], finite="finite" in words),  # noqa: B023
            "waits": lambda: supervisor.start("one", WAIT),
            "obeys": lambda: obeys(supervisor.start("one", OBEDIENT)),
            "alive": supervisor.require_alive,
            "ready": lambda: supervisor.wait_ready("one"),
            "stop": lambda: supervisor.stop_all(["one"]),
            "dies": lambda: dies(" ".join(words)),  # noqa: B023
        }
        if step in acts:
            acts[step]()
        elif step == "finished":
            assert supervisor.finished("one")
        else:
            act = getattr(supervisor, words[0] if words else step)
            assert act("one", fault="it") == (step != "not")
    (end,) = ends(directory)
    assert [end.exit_code, end.expected, end.fault] == case["end"]


def is_stopped(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


def test_a_paused_process_and_its_children_stand_still_until_they_are_resumed(
    supervisor: supervising.Supervisor, directory: directories.RunDirectory
) -> None:
    code = "import os, signal; print(os.fork(), flush=True); signal.pause()"
    process = supervisor.start("one", [sys.executable, "-c", code])
    clocks.wait_until(
        lambda: len(process.log_tail().split()) == 2, timeout_s=TIMEOUT_S, why="the child"
    )
    pids = [process.pid, max(map(int, process.log_tail().split()))]
    for _ in range(2):
        assert supervisor.pause("one", fault="pause")
        for pid in pids:
            clocks.wait_until(lambda pid=pid: is_stopped(pid), timeout_s=TIMEOUT_S, why="stop")  # type: ignore[misc]
        supervisor.require_alive()
        supervisor.resume("one")
        supervisor.resume("one")
        assert not any(map(is_stopped, pids))
    supervisor.kill_all()
    clocks.wait_until(lambda: ended_processes.is_gone(pids[1]), timeout_s=TIMEOUT_S, why="its end")
    kinds = [type(record).__name__ for record in journal_reader.read(directory.processes).records]
    assert kinds == [
        "ProcessStarted",
        *(["ProcessPaused", "ProcessResumed"] * 2),
        "ProcessEnded",
    ]


def test_the_newest_living_incarnation_is_found_and_all_are_stopped_in_order(
    supervisor: supervising.Supervisor, directory: directories.RunDirectory
) -> None:
    for name in ("kubelet", "one", "one.2", "one.3"):
        supervisor.start(name, OBEDIENT)
    supervisor.kill("one.3", fault="crash")
    assert supervisor.incarnations("one") == ["one", "one.2", "one.3"]
    assert supervisor.living("one") == "one.2"
    supervisor.stop_all(["one", "kubelet"])
    assert supervisor.living("one") is None
    assert [end.process for end in ends(directory)] == ["one.3", "one", "one.2", "kubelet"]
