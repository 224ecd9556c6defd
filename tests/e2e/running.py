"""Runs the command as people do, with a mark on every process that it starts."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence

import psutil
import pytest

from harness import clocks, errors
from harness.cli import main
from harness.client import apis, transports
from harness.cluster.local import control_plane
from harness.history import directories, zstd_frames
from tests.support import called_commands

MARK = "FLAKE_HUNT_TEST_MARK"
TIMEOUT_S = 150
"""Below the limit of a test: a command that hangs is named."""
KIND_PROFILES = [name for name in os.environ.get("E2E_KIND_PROFILES", "").split(",") if name]
KIND_PROFILE = KIND_PROFILES[0] if KIND_PROFILES else "kind"
"""The profile of the tests on kind that are not about versions."""
KIND_TIMEOUT_S = 1500
"""The image has to be pulled."""
LONGER = ("--set", "traffic.duration_s=10")
"""For a run on a real control plane, which may need seconds for what ours does in one."""
_HEED = "signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"
HEEDING_INTERRUPTS = (sys.executable, "-I", "-S", "-c", f"import os, signal, sys; {_HEED}")
"""Begins a command line that heeds them also where the tests run in a shell's background."""
SMALL_SCENARIO = """
schema_version = 1
name = "small"
title = "a small churn"
description = "for tests"
controls = ["gather-not-atomic"]
[pools]
nodes = 2
devices_per_node = 3
[traffic]
profile = "churn"
users = 16
processes = 1
duration_s = 0.3
duration_max_s = 30.0
wait_s = 10.0
[subject]
backoff_initial_s = 0.02
backoff_max_s = 0.1
pauses = { probability = 0.05, pause_s_max = 0.01 }
[load]
allocations_min = 20
pods_running_min = 20
reuse_min = 5
"""


class Command:
    """A command that was started."""

    def __init__(
        self,
        folder: pathlib.Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        """`prefix`: a program that starts the command, with its arguments."""
        self._mark = uuid.uuid4().hex
        self._strangers = set[psutil.Process]()
        """Processes without the mark: they never get it, and reading their environment is slow."""
        self.output = folder / f"output-{self._mark}.txt"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *HEEDING_INTERRUPTS,
                    *prefix,
                    *(sys.executable, "-m", "harness.cli.main"),
                    *arguments,
                ],
                cwd=folder,
                env={
                    **os.environ,
                    MARK: self._mark,
                    "XDG_STATE_HOME": str(folder / "state"),
                    **(env or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, *, timeout_s: float = TIMEOUT_S) -> int:
        return self.process.wait(timeout_s)

    def text(self) -> str:
        return self.output.read_text()

    def others(self) -> dict[int, str]:
        """pid -> command line of every process that it started, directly or not, and that lives."""
        found = {}
        for process in psutil.process_iter():
            if process in self._strangers or process.pid == self.process.pid:
                continue
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) != self._mark:
                    self._strangers.add(process)
                elif process.status() != psutil.STATUS_ZOMBIE:
                    found[process.pid] = " ".join(process.cmdline())
        return found

    def wait_for_other(self, words: str) -> int:
        """The pid of a process with these words in its command line, once it is there; the newest
        one.
        """

        found: list[int] = []

        def look() -> list[int]:
            found[:] = [pid for pid, line in self.others().items() if words in line]
            return found

        clocks.wait_until(look, timeout_s=60, why=f"{words} to run")
        return max(found)

    def wait_for_text(self, words: str) -> None:
        clocks.wait_until(
            lambda: words in self.text(), timeout_s=TIMEOUT_S, why=f"{words!r} to be printed"
        )

    def require_alone(self) -> None:
        try:
            clocks.wait_until(lambda: not self.others(), timeout_s=20, why="every process to go")
        except errors.WaitTimeoutError as error:
            raise AssertionError(f"still there: {self.others()}") from error


@contextlib.contextmanager
def started(
    folder: pathlib.Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Iterator[Command]:
    command = Command(folder, *arguments, env=env, prefix=prefix)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.kill()
            command.process.wait()
        for pid in command.others():
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).kill()


def run(folder: pathlib.Path, *arguments: str, timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    """Exit code and output of a command that ends by itself."""
    with started(folder, *arguments) as command:
        code = command.wait(timeout_s=timeout_s)
        command.require_alone()
        return code, command.text()


def called(folder: pathlib.Path, *arguments: str) -> tuple[int, str]:
    """The same in this process, which has imported everything: a second of CPU time less.

    The processes of a run are its own all the same. Connections of threads end with them, unclosed.
    """
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        contextlib.chdir(folder),
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        called_commands.kept_hooks(),
    ):
        warnings.simplefilter("ignore", ResourceWarning)
        patch.setattr(sys, "argv", ["flake-hunt", *arguments])
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        with pytest.raises(SystemExit) as ended:
            main.main()
    output.seek(0)
    assert isinstance(ended.value.code, int)
    return ended.value.code, output.read()


@contextlib.contextmanager
def api(kubeconfig: pathlib.Path) -> Iterator[apis.Api]:
    """A client for the time of the block. Left open by a test that fails, its socket would end in a
    traceback of its own.
    """
    with contextlib.closing(transports.connect(kubeconfig)) as transport:
        yield apis.Api(transport)


def scenario(folder: pathlib.Path) -> pathlib.Path:
    path = folder / "small.toml"
    path.write_text(SMALL_SCENARIO)
    return path


def run_directory(folder: pathlib.Path) -> pathlib.Path:
    (plan,) = folder.glob("reports/small/*/plan.json")
    return plan.parent


def text(path: pathlib.Path) -> str:
    (form,) = directories.forms(path)
    with form.open("rb") as file:
        is_plain = form == path
        content = file.read() if is_plain else zstd_frames.decompressing(file).read()
    return content.decode()


def require_noted(directory: pathlib.Path, provider: str) -> None:
    found = json.loads((directory / "cluster.json").read_text())
    assert found["provider"] == provider
    assert found["versions"]
    assert not [path for path in directory.rglob("*") if "kubeconfig" in path.name]


def in_memory(folder: pathlib.Path, *names: str) -> list[pathlib.Path]:
    """etcd's data of the runs below this folder and of clusters of these names; other tests have
    theirs there too.
    """
    runs = [path.name.rpartition("-")[2] for path in folder.glob("reports/*/*-*")]
    endings = tuple(f"-{name}" for name in (*names, *runs))
    return [
        path for path in control_plane.MEMORY.glob("flake-hunt-*") if path.name.endswith(endings)
    ]
