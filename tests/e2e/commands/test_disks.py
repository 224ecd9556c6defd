"""Every command that writes, on a disk that is full and on one that is read-only: one sentence, the
right exit code, no traceback.
"""

import contextlib
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.checks import judging
from harness.history import directories
from harness.report import publishing
from tests.e2e import running
from tests.histories import building

pytestmark = pytest.mark.e2e

READ_ONLY = "read-only file system"
FULL = "no space left on device"
VALID = "a+D1 a^p p* a~ b+D2 b^q q* c+D1"


class Disk:
    """A small file system in memory."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def fill(self) -> None:
        """Leave no room, not for one byte and not for one more file."""
        with contextlib.suppress(OSError), (self.path / "ballast").open("wb", 0) as file:
            while True:
                file.write(b"x" * 4096)
        with contextlib.suppress(OSError):
            for number in range(10_000):
                (self.path / f"ballast-{number}").touch()

    def protect(self) -> None:
        _call("mount", "-o", "remount,ro", str(self.path))


def _call(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)


@contextlib.contextmanager
def mounted(path: pathlib.Path, *, size: str = "2m") -> Iterator[Disk]:
    """A disk, or a skip where we may not mount one."""
    path.mkdir()
    try:
        _call("mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=200", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        pytest.skip(f"a file system cannot be mounted here: {reason.strip()}")
    try:
        yield Disk(path)
    finally:
        _call("umount", "-l", str(path))


@pytest.fixture
def disk(tmp_path: pathlib.Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk") as made:
        yield made


def _published(path: pathlib.Path) -> directories.RunDirectory:
    directory = building.build(path, VALID)
    publishing.publish(judging.examine(directory))
    return directory


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("token")
    search = ("--defect", "gather-not-atomic", "--seed", "1", "--schedules", "2000")
    _, output = running.called(folder, "explore", *search)
    return re.findall(r"fh3-\S+", output)[0]


COMMANDS = {
    "run": ["run", "SCENARIO", "--reports", "DISK/reports"],
    "hunt": ["hunt", "SCENARIO", "--repeat", "1", "--repeat-controls", "0", "--reports", "DISK/r"],
    "budget": ["hunt", "SCENARIO", "--minutes", "1", "--repeat", "1", "--reports", "DISK/reports"],
    "report": ["report", "DISK/run"],
    "replay --pytest": ["replay", "TOKEN", "--pytest", "DISK/test_it.py"],
    "replay --save": ["replay", "TOKEN", "--save", "DISK/saved"],
    "apiserver --kubeconfig": ["part", "apiserver", "--kubeconfig", "DISK/kubeconfig"],
    "apiserver --data-dir": ["part", "apiserver", "--kubeconfig", "k", "--data-dir", "DISK/data"],
    "cluster up": ["cluster", "up", "on-disk", "--nodes", "1"],
}


def _arguments(name: str, folder: pathlib.Path, disk: Disk, token: str) -> list[str]:
    words = {"SCENARIO": str(running.scenario(folder)), "TOKEN": token, "DISK": str(disk.path)}
    arguments = []
    for argument in COMMANDS[name]:
        for word, value in words.items():
            argument = argument.replace(word, value)
        arguments.append(argument)
    return arguments


def _made(name: str, folder: pathlib.Path, disk: Disk, token: str, state: str) -> tuple[int, str]:
    """Its exit code and output; its own notes are on the disk as well where it has nowhere else to
    write to.
    """
    arguments = _arguments(name, folder, disk, token)
    env = {"XDG_STATE_HOME": state}
    with running.started(folder, *arguments, env=env) as command:
        code = command.wait()
        command.require_alone()
        return code, command.text()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(tmp_path: pathlib.Path, disk: Disk, token: str, name: str) -> None:
    directory = _published(disk.path / "run")
    for page in directory.pages():
        page.unlink()
    (disk.path / "flake-hunt").mkdir(mode=0o700)
    disk.fill()
    state = disk.path if name == "cluster up" else tmp_path / "state"
    code, output = _made(name, tmp_path, disk, token, str(state))
    assert "Traceback" not in output
    assert "cannot write " in output
    assert FULL in output
    assert code == 1


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "cluster up"])
def test_a_read_only_disk(tmp_path: pathlib.Path, disk: Disk, token: str, name: str) -> None:
    """(`cluster up` keeps its notes elsewhere then.)"""
    _published(disk.path / "run")
    disk.protect()
    code, output = _made(name, tmp_path, disk, token, str(tmp_path / "state"))
    assert "Traceback" not in output
    assert READ_ONLY in output.lower() or f"{disk.path} cannot be written" in output
    assert code == 2


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_check_judges_all_the_same(tmp_path: pathlib.Path, disk: Disk, kind: str) -> None:
    directory = _published(disk.path / "run")
    steps = directory.steps(building.SCHEDULER)
    steps.write_bytes(steps.read_bytes()[:-5])
    for page in directory.pages() if kind == "full" else []:
        page.unlink()
    disk.fill() if kind == "full" else disk.protect()
    code, output = running.run(tmp_path, "check", str(directory.path))
    assert code == 20
    assert output.startswith("UNKNOWN written-by-hand")
    assert f"This verdict and its report are not in {directory.path}: cannot write " in output
    assert (FULL if kind == "full" else READ_ONLY) in output
    assert not (kind == "full" and directory.verdict.exists())


def test_a_disk_that_fills_up_during_a_run(tmp_path: pathlib.Path) -> None:
    """The records that could be written stay, and their verdict is UNKNOWN."""
    with mounted(tmp_path / "disk", size="400k") as disk:
        arguments = ("run", str(running.scenario(tmp_path)), "--reports", str(disk.path / "r"))
        code, output = running.run(tmp_path, *arguments, "--set", "traffic.duration_s=2")
        (plan,) = disk.path.glob("r/small/*/plan.json")
        evidence = (plan.parent / "observations.jsonl").stat().st_size
    assert "Traceback" not in output
    assert "UNKNOWN" in output
    assert code in (1, 20)
    assert evidence > 10_000


def test_an_output_that_is_full(tmp_path: pathlib.Path) -> None:
    directory = _published(tmp_path / "run")
    with pathlib.Path("/dev/full").open("wb") as full:
        argv = [sys.executable, "-m", "harness", "check", str(directory.path)]
        ended = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("flake-hunt: cannot write: no space left on device")
