"""The boot id that a run's drivers see."""

import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from harness.cluster.kubelet_api import boot_ids
from harness.run import driver_processes
from harness.run.programs import driver_commands

KERNEL = "/proc/sys/kernel/random/boot_id"


class State:
    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    def kubelet_state(self, process: str) -> pathlib.Path:
        return self._folder / process


class Supervisor:
    """Runs a program to its end and remembers what it has printed."""

    def __init__(self) -> None:
        self.printed: list[str] = []

    def start_foreign(self, name: str, argv: list[str], **_: Any) -> None:
        ended = subprocess.run(argv, capture_output=True, text=True, check=True)
        self.printed.append(ended.stdout)


@pytest.fixture
def supervisor() -> Supervisor:
    return Supervisor()


@pytest.fixture
def drivers(tmp_path: pathlib.Path, supervisor: Any) -> Iterator[Any]:
    chosen = driver_commands.ChosenDriver(command=("cat", KERNEL))
    place = driver_commands.Place(process="driver", nodes=("worker-0",), drivers=("d.example",))
    directory: Any = State(tmp_path)
    made = driver_processes.DriverProcesses(
        chosen, [place], directory=directory, supervisor=supervisor
    )
    yield made
    made.remove_sockets()


@pytest.mark.skipif(not boot_ids.can_be_given(), reason="only root can bind a file")
def test_a_reboot_shows_in_the_boot_id(drivers: Any, supervisor: Supervisor) -> None:
    def start() -> str:
        drivers.start("driver", first="driver", options=[], kubeconfig=pathlib.Path("unused"))
        return supervisor.printed[-1]

    first = start()
    assert first != pathlib.Path(KERNEL).read_text()
    assert start() == first  # it was restarted, and its node was not
    shutil.rmtree(drivers.cdi_folder("worker-0"))
    assert start() not in (first, pathlib.Path(KERNEL).read_text())
