"""Which processes of a run may end, and how that is journaled."""

import errno
import pathlib
import sys
from collections.abc import Iterator

import pytest

from harness import clocks, errors
from harness.history import directories, journal_reader, journal_writer, records
from harness.run import supervising

TIMEOUT_S = 30.0


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return directories.create(tmp_path / "run")


@pytest.fixture
def deaths() -> list[str]:
    """The exit report of the cluster."""
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


def expected_ends(directory: directories.RunDirectory) -> list[bool]:
    text = directory.processes.read_text()
    return ['"expected":true' in line for line in text.splitlines() if "process-ended" in line]


def test_a_finite_process_may_have_done_its_work_before_anybody_asks(
    supervisor: supervising.Supervisor, directory: directories.RunDirectory
) -> None:
    start(supervisor, "", finite=True)
    supervisor.require_alive()
    assert supervisor.finished("one")
    supervisor.require_alive()
    assert expected_ends(directory) == [True]


def test_a_finite_process_that_nobody_asked_about_has_ended_in_order(
    supervisor: supervising.Supervisor, directory: directories.RunDirectory
) -> None:
    start(supervisor, "", finite=True)
    supervisor.stop("one")
    assert expected_ends(directory) == [True]


@pytest.mark.parametrize(
    ("code", "finite", "how"),
    [
        ("raise SystemExit(3)", True, "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", True, "signal 9"),
        ("", False, "exit code 0"),
    ],
)
def test_any_other_end_is_a_death(
    supervisor: supervising.Supervisor,
    directory: directories.RunDirectory,
    code: str,
    finite: bool,
    how: str,
) -> None:
    start(supervisor, code, finite=finite)
    with pytest.raises(errors.ProcessError, match=f"expected one to live .* ended with {how}"):
        supervisor.wait_until(lambda: False, timeout_s=TIMEOUT_S, why="nothing")
    supervisor.stop("one")
    assert expected_ends(directory) == [False]


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
