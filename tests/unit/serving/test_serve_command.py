"""`flake-hunt serve` from its start to its end."""

import contextlib
import pathlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.serving import servers
from tests.histories import archives
from tests.support import served_reports


@contextlib.contextmanager
def started(reports: pathlib.Path, temporary: pathlib.Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "harness", "serve", str(reports), "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(temporary), "DISPLAY": ":0", "PATH": "/usr/bin"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended_and_leaves_nothing(
    number: signal.Signals, tmp_path: pathlib.Path
) -> None:
    reports, temporary = tmp_path / "reports", tmp_path / "temporary"
    temporary.mkdir()
    archives.run(reports, "run")
    before = contents(reports)
    with started(reports, temporary) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", said[1])
        client = served_reports.Client(said[1].strip())
        for path in ("/", "/files/written-by-hand/run/plan.json"):
            assert client.ask(path).status == 200
        process.send_signal(number)
        assert process.wait(60) == 0
        assert process.communicate() == ("", "")
    assert contents(reports) == before
    assert list(temporary.iterdir()) == []


def contents(folder: pathlib.Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in [folder, *folder.rglob("*")]
    }


def test_a_port_in_use_is_one_sentence(flake_hunt, tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, out, err = flake_hunt("serve", tmp_path, "--port", str(port))
    assert (code, out) == (2, "")
    assert err == (
        f"flake-hunt: expected a free port for --port, got {port} (it is in use): choose another "
        "one, or 0 for any\n"
    )


def test_a_folder_that_is_none_is_one_sentence(flake_hunt, tmp_path: pathlib.Path) -> None:
    code, out, err = flake_hunt("serve", tmp_path / "nothing", "--port", "0")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "expected a folder of reports" in err


def test_only_this_machine_can_reach_it() -> None:
    with servers.bound(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
