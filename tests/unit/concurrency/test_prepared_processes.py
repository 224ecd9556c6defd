"""Processes that are forked from a template are like those that are started."""

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from harness import clocks, prepared_processes, processes
from tests.support import ended_processes

TIMEOUT_S = 60.0
Fork = Callable[..., prepared_processes.Fork]
OWNER = """
import pathlib, signal, sys
from harness import processes
processes.prepare()
argv = processes.command("part", "apiserver", "--kubeconfig", sys.argv[2] + ".yaml", "--set", f"ready_file={sys.argv[2]}")
process = processes.start("apiserver", argv, log=pathlib.Path(sys.argv[1]))
print(process.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def made() -> Iterator[prepared_processes.Template]:
    made = prepared_processes.Template()
    yield made
    made.close()


@pytest.fixture
def fork(made: prepared_processes.Template, tmp_path: pathlib.Path) -> Fork:
    def fork(
        *arguments: str, log: str = "log", **environment: str
    ) -> prepared_processes.Fork | None:
        with (tmp_path / log).open("ab") as output:
            return made.fork(
                processes.command(*arguments),
                output=output.fileno(),
                environment={**os.environ, **environment},
                folder=tmp_path,
            )

    return fork  # type: ignore[return-value]


def serving(fork: Fork, tmp_path: pathlib.Path, name: str = "one") -> prepared_processes.Fork:
    """An API server that is ready; its ready file is named relative to its folder."""
    found = fork("part", "apiserver", "--kubeconfig", "kubeconfig", "--set", f"ready_file={name}")
    wait_for((tmp_path / name).exists, "the API server")
    return found


def wait_for(condition: Callable[[], object], why: str) -> None:
    clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why)


def test_a_command_runs_and_its_exit_code_is_known(fork: Fork, tmp_path: pathlib.Path) -> None:
    for arguments, exit_code, words in (
        (["--version"], 0, "flake-hunt"),
        (["no-such-command"], 2, "No such command 'no-such-command'"),
        (
            ["part", "scheduler", "--kubeconfig", "/no/such/file"],
            2,
            "expected a readable kubeconfig",
        ),
    ):
        log = f"{exit_code}-{len(arguments)}"
        found = fork(*arguments, log=log)
        assert found.wait(TIMEOUT_S) == exit_code == found.poll() == found.wait(0)
        assert words in (tmp_path / log).read_text()


def test_it_has_a_session_a_command_line_a_folder_and_no_open_files_of_others(
    fork: Fork, tmp_path: pathlib.Path
) -> None:
    one, other = serving(fork, tmp_path, "one"), serving(fork, tmp_path, "other")
    for found, name in ((one, "one"), (other, "other")):
        assert os.getsid(found.pid) == os.getpgid(found.pid) == found.pid
        process = psutil.Process(found.pid)
        words = [word for word in process.cmdline() if word]
        assert words == processes.command(
            "part", "apiserver", "--kubeconfig", "kubeconfig", "--set", f"ready_file={name}"
        )
        assert pathlib.Path(process.cwd()) == tmp_path.resolve()
        targets = [str(path.readlink()) for path in pathlib.Path(f"/proc/{found.pid}/fd").iterdir()]
        assert [target for target in targets if target.startswith("pipe:")] == []
        assert "anon_inode:[pidfd]" not in targets


def test_the_environment_is_that_of_the_request(fork: Fork, tmp_path: pathlib.Path) -> None:
    found = fork("doctor", "--plugins", FLAKE_HUNT_PLUGINS="/no/such/folder")
    assert found.wait(TIMEOUT_S) != 0
    assert "/no/such/folder" in (tmp_path / "log").read_text()


def test_signals_end_it_in_order_or_at_once(fork: Fork, tmp_path: pathlib.Path) -> None:
    orderly, killed = serving(fork, tmp_path, "one"), serving(fork, tmp_path, "other")
    with pytest.raises(subprocess.TimeoutExpired):
        orderly.wait(0.01)
    os.kill(orderly.pid, signal.SIGTERM)
    assert orderly.wait(TIMEOUT_S) == 0
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(TIMEOUT_S) == -signal.SIGKILL
    assert psutil.pid_exists(killed.pid) is psutil.pid_exists(orderly.pid) is False


def test_they_end_with_their_template_and_nothing_is_forked_afterwards(
    made: prepared_processes.Template, fork: Fork, tmp_path: pathlib.Path
) -> None:
    found = serving(fork, tmp_path)
    made.close()
    assert found.wait(TIMEOUT_S) == -signal.SIGKILL
    wait_for(lambda: ended_processes.is_gone(found.pid), "the fork to be gone")
    assert fork("--version") is None


def test_a_template_outlives_signals_to_all_processes_of_a_job(
    fork: Fork, tmp_path: pathlib.Path
) -> None:
    """Its forks end in order, which they could not if they were killed with it."""
    found = serving(fork, tmp_path)
    parent = psutil.Process(found.pid).ppid()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(parent, number)
    assert fork("--version").wait(TIMEOUT_S) == 0
    os.kill(found.pid, signal.SIGTERM)
    assert found.wait(TIMEOUT_S) == 0


def test_a_request_that_is_too_long_is_left_to_others(fork: Fork) -> None:
    assert fork("--version", LONG="x" * prepared_processes.REQUEST_BYTES_MAX) is None
    assert fork("--version").wait(TIMEOUT_S) == 0


def test_they_end_with_the_process_that_wanted_them(tmp_path: pathlib.Path) -> None:
    ready = tmp_path / "ready"
    argv = [sys.executable, "-c", OWNER, str(tmp_path / "log"), str(ready)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout is not None
            pid = int(owner.stdout.readline())
            wait_for(ready.exists, "the API server")
            server, owning = psutil.Process(pid), psutil.Process(owner.pid)
            assert server.parent() in owning.children()
            assert server.parent() != owning, "it was not forked from a template"
        finally:
            owner.kill()
    wait_for(lambda: ended_processes.is_gone(pid), "the API server to be gone")


def test_a_template_has_one_thread_after_its_imports() -> None:
    """A fork has only the thread that forks: locks that another one held would stay locked."""
    program = (
        "import importlib, threading\n"
        "from harness.cli import template\n"
        "for module in template.MODULES: importlib.import_module(module)\n"
        "print(open('/proc/self/status').read().partition('Threads:')[2].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
