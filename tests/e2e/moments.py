"""Kills commands at random moments of their lives, and looks for what is left after the `flake-hunt
cluster prune` that follows at once.

.venv/bin/python -m tests.e2e.moments 50                       each command 50 times
.venv/bin/python -m tests.e2e.moments 50 --only explore hunt   some of them
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from harness import clocks, errors
from tests.e2e import remains, running
from tests.stand_ins import commands, standing_in
from tests.support import real_programs

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
"""SIGKILL as often as the two together: it is the one that leaves something."""
GRACE_S = 60
LIFE_S_MAX = 8.0
"""Moments are drawn from these first seconds: it has workers, clusters and load by then."""
GONE_S = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A command to kill."""

    name: str
    arguments: Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One kill: the command, the signal and the moment."""

    kind: Kind
    signal: signal.Signals
    after_s: float

    def __str__(self) -> str:
        return f"{self.kind.name} {self.signal.name} after {self.after_s:.2f} s"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The result of a kill."""

    was_running: bool
    before: list[str]
    """Left by the command."""
    pruned: str
    """The output of prune."""
    after: list[str]

    def __str__(self) -> str:
        said = self.pruned.splitlines()
        more = f" and {len(said) - 1} more" * (len(said) > 1)
        return (
            f"{'' if self.was_running else 'had ended, '}{len(self.before)} things left, "
            f"prune said {said[0]!r}{more}, then left: {'; '.join(self.after) or 'nothing'}"
        )


def kinds(place: remains.Place) -> list[Kind]:
    """Explorations and campaigns; a run with paused processes; a run and a cluster that stays, on
    the embedded server, on kind, and on a local control plane with etcd.
    """
    scenario = str(running.scenario(place.folder))
    reports = ("--reports", "reports")
    hunt = ("hunt", scenario, "--repeat", "2", "--repeat-controls", "1", "--jobs", "2", *reports)
    return [
        Kind(name="explore", arguments=("explore", "--time", "3")),
        Kind(name="hunt", arguments=hunt),
        Kind(name="paused run", arguments=("run", _with_paused_processes(place), *reports)),
        Kind(name="budget", arguments=(*hunt, "--minutes", "1")),
        *(
            Kind(name=f"{name}{where}", arguments=(*words, *cluster))
            for where, cluster in _clusters(place).items()
            for name, words in {
                "run": ("run", scenario, *reports),
                "cluster up": _up(place),
            }.items()
        ),
    ]


def _with_paused_processes(place: remains.Place) -> str:
    """A scenario in which processes stand still (SIGSTOP) for half a minute."""
    path = place.folder / "paused.toml"
    text = running.SMALL_SCENARIO.replace('name = "small"', 'name = "paused"')
    paused = "".join(
        f'[[faults]]\nkind = "pause-process"\nrole = "{role}"\nseconds = 30.0\nstart_s = 0.5\n'
        for role in ("scheduler", "claim-controller", "kubelet")
    )
    path.write_text(text + paused)
    return str(path)


def _up(place: remains.Place) -> tuple[str, ...]:
    return ("cluster", "up", place.stays, "--nodes", "2", "--devices-per-node", "2")


def _clusters(place: remains.Place) -> dict[str, tuple[str, ...]]:
    profile = place.folder / "stand-in.toml"
    profile.write_text(standing_in.profile_text())
    found: dict[str, tuple[str, ...]] = {
        "": ("--cluster", "embedded"),
        " on kind": ("--cluster", str(profile)),
    }
    etcd = real_programs.find("etcd")
    if etcd is not None:
        binaries = place.folder / "binaries"
        commands.install(binaries, "kube-apiserver")
        (binaries / "etcd").symlink_to(etcd)
        found[" on local"] = ("--cluster", "local", "--cluster", f"binaries={binaries}")
    return found


def kill(moment: Moment, place: remains.Place) -> Found:
    """Kill it, prune at once, and look."""
    kind = moment.kind
    with running.started(place.folder, *kind.arguments, env=place.environment()) as command:
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(moment.after_s)
        shared = remains.shared_memory(command)
        was_running = command.process.poll() is None
        if was_running:
            os.kill(command.process.pid, moment.signal)
        command.process.wait(GRACE_S)
        before = remains.everything(command, place, shared)
        pruned = _settle(kind, place)
        with contextlib.suppress(errors.WaitTimeoutError):
            clocks.wait_until(
                lambda: not remains.everything(command, place, shared),
                timeout_s=GONE_S,
                why="all to be gone",
            )
        after = remains.everything(command, place, shared)
    return Found(was_running=was_running, before=before, pruned=pruned, after=after)


def _settle(kind: Kind, place: remains.Place) -> str:
    """Prune; then take a cluster down that came up in time, and so is meant to stay. The output of
    prune.
    """
    said = _flake_hunt(place, "cluster", "prune")
    entries = list((place.state / "flake-hunt" / "clusters").glob("*.json"))
    if "up" in kind.arguments and entries and '"state":"up"' in entries[0].read_text():
        _flake_hunt(place, "cluster", "down", place.stays)
    return said


def _flake_hunt(place: remains.Place, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", *arguments],
        env={**os.environ, **place.environment()},
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(
            f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def main(arguments: Sequence[str]) -> int:
    """Kill each command at random moments; exit code 1 if anything is left."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.moments", description=__doc__)
    parser.add_argument("count", type=int, help="kills of each command")
    parser.add_argument("--only", nargs="+", default=[""], help="commands whose names begin so")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    left = 0
    with (
        tempfile.TemporaryDirectory() as name,
        standing_in.started(pathlib.Path(name, "e")) as engine,
    ):
        place = remains.Place(folder=pathlib.Path(name), engine=engine)
        for kind in kinds(place):
            stream = random.Random(f"{asked.seed} {kind.name}")
            for _ in range(asked.count * kind.name.startswith(tuple(asked.only))):
                after_s = stream.uniform(0, LIFE_S_MAX)
                moment = Moment(kind=kind, signal=stream.choice(SIGNALS), after_s=after_s)
                found = kill(moment, place)
                sys.stdout.write(f"{moment}: {found}\n")
                left += len(found.after)
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
