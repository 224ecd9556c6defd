"""A current folder with modules of the names that children import: none of them is run."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e

NAMES = (
    "queue",
    "random",
    "types",
    "socket",
    "threading",
    "selectors",
    "logging",
    "locust",
    "json",
)
"""Modules that every process imports early, or late; `harness` is a package."""
HOSTILE = """
import pathlib
pathlib.Path({trace!r}).open("a").write(__name__ + "\\n")
raise SystemExit("a module of the current folder was imported: " + __name__)
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    text = HOSTILE.format(trace=str(tmp_path / "imported"))
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text(text)
    return tmp_path


def run(folder: pathlib.Path, *arguments: str) -> tuple[int, str]:
    """Run the command as the installed one, which does not look into the current folder itself."""
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "harness.cli.main", *arguments],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    imported = folder / "imported"
    assert not imported.exists(), f"{imported.read_text()}{ended.stdout}"
    return ended.returncode, ended.stdout


def test_run_and_check(folder: pathlib.Path) -> None:
    code, output = run(folder, "run", str(running.scenario(folder)))
    assert code in (0, 20), output
    assert run(folder, "check", str(running.run_directory(folder)))[0] == code


def test_explorers_in_processes(folder: pathlib.Path) -> None:
    search = ("--defect", "gather-not-atomic", "--seed", "1", "--schedules", "200")
    code, output = run(folder, "explore", *search)
    assert code in (0, 10), output


def test_the_users_own_program_may_use_its_folder(folder: pathlib.Path) -> None:
    """Its helper stands beside it, under a name that Python has too."""
    (folder / "queue.py").write_text("WORD = 'mine'\n")
    (folder / "mine.py").write_text("import queue\nraise SystemExit('found ' + queue.WORD)\n")
    program = f"command={sys.executable} mine.py"
    code, output = run(folder, "run", str(running.scenario(folder)), "--subject", program)
    assert (code, "found mine" in output) == (2, True), output


def test_a_locustfile_by_its_path(folder: pathlib.Path) -> None:
    """It may import what is beside it."""
    (folder / "my_users_helper.py").write_text("WEIGHT = 3\n")
    (folder / "mine.py").write_text(
        "import my_users_helper\n"
        "from locust import task\n"
        "from harness.traffic import users\n\n\n"
        "class Mine(users.ClaimUser):\n"
        "    weight = my_users_helper.WEIGHT\n\n"
        "    @task\n"
        "    def turn(self):\n"
        "        pod = self.new_pod_name()\n"
        "        if self.create_pod(pod):\n"
        "            self.wait_running(pod, timeout_s=30)\n"
        "            self.delete_pods([pod], timeout_s=30)\n"
    )
    code, output = run(
        folder,
        "run",
        str(running.scenario(folder)),
        "--set",
        f"traffic.locustfile={folder / 'mine.py'}",
    )
    assert code in (0, 20), output
