"""The remains of a command: processes, files, shared memory; with folders of its own, so that no
other's count.
"""

import contextlib
import dataclasses
import pathlib
import zlib
from collections.abc import Iterator

import psutil

from tests.e2e import running

STAND_IN = "stand-in-"
"""Temporary folders of the stand-ins: what they stand in for makes none."""
SHARED_MEMORY = "/dev/shm/"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where commands are run: folders of their own for state, temporary files and reports."""

    folder: pathlib.Path

    @property
    def stays(self) -> str:
        """The name of the cluster that stays: no other test's."""
        return f"stays-{zlib.crc32(str(self.folder).encode()):x}"

    @property
    def state(self) -> pathlib.Path:
        return self.folder / "state"

    @property
    def temporary(self) -> pathlib.Path:
        return self.folder / "tmp"

    @property
    def home(self) -> pathlib.Path:
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        for path in (self.temporary, self.home):
            path.mkdir(exist_ok=True)
        return {
            "XDG_STATE_HOME": str(self.state),
            "TMPDIR": str(self.temporary),
            "HOME": str(self.home),
        }


def everything(command: running.Command, place: Place, shared: set[str]) -> list[str]:
    """All that is there of it, in words; `shared`: the shared memory that it had."""
    return [
        *_processes(command, place),
        *_files(place),
        *(f"shared memory {path}" for path in sorted(shared) if pathlib.Path(path).exists()),
    ]


def shared_memory(command: running.Command) -> set[str]:
    """The files of shared memory that the command and its processes have mapped: semaphores of
    multiprocessing, for example.
    """
    found = set()
    for pid in (command.process.pid, *command.others()):
        with contextlib.suppress(psutil.Error, OSError):
            found |= {item.path for item in psutil.Process(pid).memory_maps()}
    return {path for path in found if path.startswith(SHARED_MEMORY)}


def _processes(command: running.Command, place: Place) -> list[str]:
    found = command.others() | dict(_with_argument(place, but=command.process.pid))
    return [f"process {pid} {line}" for pid, line in found.items()]


def _with_argument(place: Place, *, but: int) -> Iterator[tuple[int, str]]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if str(place.folder) in line and process.pid != but:
                yield process.pid, line


def _files(place: Place) -> list[str]:
    """Entries, folders of clusters, temporary files, and kubeconfigs wherever they are."""
    kept = [
        *(place.state / "flake-hunt" / "clusters").glob("*"),
        *(path for path in place.temporary.iterdir() if not path.name.startswith(STAND_IN)),
        *place.home.rglob("*"),
        *(path for path in place.folder.glob("reports/**/*kubeconfig*") if path.is_file()),
        *place.folder.glob("reports/**/*.key"),
        *running.in_memory(place.folder, place.stays),
    ]
    return [f"file {path}" for path in kept]
