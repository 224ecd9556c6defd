"""`flake-hunt watch`: lines and JSON, exit codes, and its end by a signal."""

import os
import pathlib
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from harness import clocks
from tests.histories import building

TIMEOUT_S = 30


def test_a_run_that_was_killed_is_told_and_nothing_waits(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    under_way(tmp_path / "run", pid=2**22 + 1)
    code, out, _ = flake_hunt("watch", str(tmp_path / "run"))
    assert code == 20
    assert "the process that made the run is gone, and left no verdict" in out


def under_way(path: pathlib.Path, *, pid: int) -> None:
    changes = {"pid": pid, "boot_id": clocks.boot_id(), "created_wall_ns": clocks.wall_ns()}
    building.build(path, "a+D1 b+D1", changes={"scenario": "x\x1b[31m", **changes})
    for file in path.iterdir():
        os.utime(file, times=(1.0, 1.0))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_on_a_terminal_ends_it_in_order(
    tmp_path: pathlib.Path, number: int
) -> None:
    under_way(tmp_path / "run", pid=os.getpid())
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli.main", "watch", str(tmp_path / "run")],
        stdout=follower,
        stderr=subprocess.PIPE,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "30"},
    )
    os.close(follower)
    drawn, is_drawn = bytearray(), threading.Event()

    def read() -> None:
        try:
            while data := os.read(leader, 65536):
                drawn.extend(data)
                if b"double allocations" in drawn:
                    is_drawn.set()
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert is_drawn.wait(TIMEOUT_S), drawn
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT_S)
    reader.join(TIMEOUT_S)
    os.close(leader)
    assert (process.returncode, err) == (130, b"flake-hunt: interrupted\n")
    assert b"\x1b[31m" not in drawn  # names in evidence are shown, and not obeyed
    assert b"\x1b[?25h" in drawn  # the cursor is shown again
