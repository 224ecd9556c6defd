"""Commands that are killed at random moments of their lives: the `flake-hunt cluster prune` that
follows at once leaves nothing.

`FLAKE_HUNT_MOMENTS=50` kills each command at 50 moments of its first seconds, in which it has
workers, clusters and load.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import zlib
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from harness import clocks, errors
from tests.e2e import running
from tests.stand_ins import standing_in
from tests.support import real_programs

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MOMENTS = int(os.environ.get("FLAKE_HUNT_MOMENTS", "0"))
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
"""SIGKILL as often as the two together: it is the one that leaves something."""
GRACE_S, GONE_S = 60, 3
RUN, UP = ("run", "small.toml"), ("cluster", "up", "STAYS", "--nodes", "2")
HUNT = ("hunt", "small.toml", "--repeat", "2", "--repeat-controls", "1", "--jobs", "2")
ON_KIND, ON_LOCAL = ("--cluster", "kind.toml"), ("--cluster", "local")
COMMANDS = {
    "explore": ("explore", "--time", "3"),
    "hunt": HUNT,
    "budget": (*HUNT, "--minutes", "1"),
    "paused run": ("run", "paused.toml"),
    "run": RUN,
    "cluster up": UP,
    "run on local": (*RUN, *ON_LOCAL),
    "cluster up on local": (*UP, *ON_LOCAL),
}
PAUSED = running.SMALL_SCENARIO.replace('name = "small"', 'name = "paused"') + "".join(
    f'[[faults]]\nkind = "pause-process"\nrole = "{role}"\nseconds = 30.0\nstart_s = 0.5\n'
    for role in ("scheduler", "claim-controller", "kubelet")
)
"""A scenario in which processes stand still (SIGSTOP) for half a minute."""


def moments() -> Iterator[Any]:
    """Yield commands, with how and when they are killed, as parameters of a test."""
    for name in COMMANDS:
        stream = random.Random(f"1 {name}")
        for number in stream.choices(SIGNALS, k=MOMENTS or 1):
            after_s = stream.uniform(0.0, 8.0) if MOMENTS else stream.uniform(1.0, 3.5)
            told = f"{name} {number.name} after {after_s:.2f} s"
            yield pytest.param(name, number, after_s, id=told)


class Place:
    """Where commands are run: folders of their own, so that no other's remains count, and a
    stand-in engine.
    """

    def __init__(self, folder: pathlib.Path, engine: standing_in.StandIn) -> None:
        self.folder, self._engine = folder, engine
        self.stays = f"stays-{zlib.crc32(str(folder).encode()):x}"
        """The name of the cluster that stays: no other test's."""
        running.scenario(folder)
        (folder / "paused.toml").write_text(PAUSED)
        (folder / "kind.toml").write_text(standing_in.profile_text())
        self.environment = engine.environment()
        for name, variable in (("tmp", "TMPDIR"), ("home", "HOME"), ("state", "XDG_STATE_HOME")):
            (folder / name).mkdir()
            self.environment[variable] = str(folder / name)

    def remains(self, command: running.Command, shared: set[str]) -> list[str]:
        """All that is there of a command, in words; `shared`: the shared memory that it had."""
        processes = command.others()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                line = " ".join(process.cmdline())
                is_of_engine = str(self._engine.folder) in line
                if str(self.folder) in line and not is_of_engine:
                    processes[process.pid] = line
        processes.pop(command.process.pid, None)
        files = [
            *(self.folder / "state" / "flake-hunt" / "clusters").glob("*"),
            *(self.folder / "tmp").iterdir(),
            *(self.folder / "home").rglob("*"),
            *(path for path in self.folder.glob("reports/**/*kubeconfig*") if path.is_file()),
            *self.folder.glob("reports/**/*.key"),
            *running.in_memory(self.folder, self.stays),
            *(path for path in map(pathlib.Path, shared) if path.exists()),
        ]
        left = self._engine.left()
        return [
            *(f"process {pid} {line}" for pid, line in processes.items()),
            *(f"file {path}" for path in files),
            *(f"{kind} {name}" for kind, names in left.items() for name in names),
        ]

    def flake_hunt(self, *words: str) -> str:
        with running.started(self.folder, *words, env=self.environment) as command:
            code = command.wait()
            assert code == 0, f"{words}: {command.text()}"
            return command.text()


def shared_memory(command: running.Command) -> set[str]:
    """The files of shared memory that the command and its processes have mapped: semaphores of
    multiprocessing, for example.
    """
    found = set()
    for pid in (command.process.pid, *command.others()):
        with contextlib.suppress(psutil.Error, OSError):
            found |= {item.path for item in psutil.Process(pid).memory_maps()}
    return {path for path in found if path.startswith("/dev/shm/")}


def kill(
    name: str, number: signal.Signals, after_s: float | None, place: Place
) -> tuple[list[str], str, list[str]]:
    """Kill a command, prune at once, and return what it left, what prune said, and what stayed.

    `after_s` None: it is killed when it has a cluster with a scheduler. A cluster that came up in
    time stays, and is taken down.
    """
    for program in ("etcd", "kube-apiserver") if "local" in name else ():
        if reason := real_programs.missing(program):
            pytest.skip(reason)
    words = [place.stays if word == "STAYS" else word for word in COMMANDS[name]]
    with running.started(place.folder, *words, env=place.environment) as command:
        if after_s is None:
            command.wait_for_other("main part scheduler")
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(after_s or 0)
        shared = shared_memory(command)
        if command.process.poll() is None:
            os.kill(command.process.pid, number)
        command.process.wait(GRACE_S)
        before = place.remains(command, shared)
        pruned = place.flake_hunt("cluster", "prune")
        entries = list((place.folder / "state" / "flake-hunt" / "clusters").glob("*.json"))
        if "up" in words and entries and '"state":"up"' in entries[0].read_text():
            place.flake_hunt("cluster", "down", place.stays)
        with contextlib.suppress(errors.WaitTimeoutError):
            clocks.wait_until(
                lambda: not place.remains(command, shared),
                timeout_s=GONE_S,
                why="all to be gone",
            )
        return before, pruned, place.remains(command, shared)


@pytest.mark.parametrize(("name", "number", "after_s"), [*moments()])
def test_prune_leaves_nothing_of_what_was_killed(
    tmp_path: pathlib.Path, name: str, number: signal.Signals, after_s: float
) -> None:
    with standing_in.started(tmp_path / "engine") as engine:
        assert kill(name, number, after_s, Place(tmp_path, engine))[2] == []


def test_what_is_left_is_seen_and_prune_names_it(tmp_path: pathlib.Path) -> None:
    with standing_in.started(tmp_path / "engine") as engine:
        left, pruned, stayed = kill("hunt", signal.SIGKILL, None, Place(tmp_path, engine))
    assert left, "the tests of random moments would show nothing"
    assert "Removed " in pruned
    assert stayed == []
