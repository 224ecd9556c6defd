"""Commands that are killed at random moments of their lives: the `flake-hunt cluster prune` that
follows at once leaves nothing.

`FLAKE_HUNT_MOMENTS=50` kills each command at 50 moments of its first seconds, in which it has
workers, clusters and load.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import clocks, errors
from tests.e2e import remains, running
from tests.support import real_programs

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MOMENTS = int(os.environ.get("FLAKE_HUNT_MOMENTS", "0"))
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
"""SIGKILL as often as the two together: it is the one that leaves something."""
GRACE_S, GONE_S = 60, 3
RUN, UP = ("run", "SCENARIO"), ("cluster", "up", "STAYS", "--nodes", "2")
HUNT = ("hunt", "SCENARIO", "--repeat", "2", "--repeat-controls", "1", "--jobs", "2")
ON_LOCAL = ("--cluster", "local")
COMMANDS = {
    "explore": ("explore", "--time", "3"),
    "hunt": HUNT,
    "budget": (*HUNT, "--minutes", "1"),
    "paused run": ("run", "PAUSED"),
    "run": RUN,
    "cluster up": UP,
    "run on local": (*RUN, *ON_LOCAL),
    "cluster up on local": (*UP, *ON_LOCAL),
}


def moments() -> Iterator[Any]:
    """Yield commands, with how and when they are killed, as parameters of a test."""
    for name in COMMANDS:
        stream = random.Random(f"1 {name}")
        for number in stream.choices(SIGNALS, k=MOMENTS or 1):
            after_s = stream.uniform(0.0, 8.0) if MOMENTS else stream.uniform(1.0, 3.5)
            told = f"{name} {number.name} after {after_s:.2f} s"
            yield pytest.param(name, number, after_s, id=told)


def arguments(name: str, place: remains.Place) -> list[str]:
    for program in ("etcd", "kube-apiserver") if "local" in name else ():
        if reason := real_programs.missing(program):
            pytest.skip(reason)
    words = {
        "SCENARIO": str(running.scenario(place.folder)),
        "PAUSED": str(with_paused_processes(place)),
        "STAYS": place.stays,
    }
    return [words.get(word, word) for word in COMMANDS[name]]


def with_paused_processes(place: remains.Place) -> Path:
    """A scenario in which processes stand still (SIGSTOP) for half a minute."""
    path = place.folder / "paused.toml"
    text = running.SMALL_SCENARIO.replace('name = "small"', 'name = "paused"')
    paused = "".join(
        f'[[faults]]\nkind = "pause-process"\nrole = "{role}"\nseconds = 30.0\nstart_s = 0.5\n'
        for role in ("scheduler", "claim-controller", "kubelet")
    )
    path.write_text(text + paused)
    return path


def kill(
    name: str, number: signal.Signals, after_s: float | None, place: remains.Place
) -> tuple[list[str], str, list[str]]:
    """Kill a command, prune at once, and return what it left, what prune said, and what stayed.

    `after_s` None: it is killed when it has a cluster with a scheduler.
    """
    words = arguments(name, place)
    with running.started(place.folder, *words, env=place.environment()) as command:
        if after_s is None:
            command.wait_for_other("main part scheduler")
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(after_s or 0)
        shared = remains.shared_memory(command)
        if command.process.poll() is None:
            os.kill(command.process.pid, number)
        command.process.wait(GRACE_S)
        before = remains.everything(command, place, shared)
        pruned = settle(words, place)
        with contextlib.suppress(errors.WaitTimeoutError):
            clocks.wait_until(
                lambda: not remains.everything(command, place, shared),
                timeout_s=GONE_S,
                why="all to be gone",
            )
        return before, pruned, remains.everything(command, place, shared)


def settle(words: Sequence[str], place: remains.Place) -> str:
    """Prune, and return what it says; a cluster that came up in time stays, and is taken down."""
    said = flake_hunt(place, "cluster", "prune")
    entries = list((place.state / "flake-hunt" / "clusters").glob("*.json"))
    if "up" in words and entries and '"state":"up"' in entries[0].read_text():
        flake_hunt(place, "cluster", "down", place.stays)
    return said


def flake_hunt(place: remains.Place, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", *words],
        env={**os.environ, **place.environment()},
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(("name", "number", "after_s"), [*moments()])
def test_prune_leaves_nothing_of_what_was_killed(
    tmp_path: Path, name: str, number: signal.Signals, after_s: float
) -> None:
    assert kill(name, number, after_s, remains.Place(tmp_path))[2] == []


def test_what_is_left_is_seen_and_prune_names_it(tmp_path: Path) -> None:
    left, pruned, stayed = kill("hunt", signal.SIGKILL, None, remains.Place(tmp_path))
    assert left, "the tests of random moments would show nothing"
    assert "Removed " in pruned
    assert stayed == []
