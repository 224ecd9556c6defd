"""Kills commands at random moments and looks for what they have left after the next `flake-hunt cluster prune`.

.venv/bin/python -m tests.e2e.moments 50        the full one, with its tally
"""

import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence

from harness import clocks, errors
from tests.e2e import running
from tests.engines import commands, standing_in

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
GRACE_S = 60
STAND_IN = "stand-in-"
"""Temporary folders of the stand-ins: what they stand in for makes none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where commands are run: folders of their own for state, temporary files and reports, and a stand-in engine."""

    folder: pathlib.Path
    engine: standing_in.StandIn

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
            **self.engine.environment(),
            "XDG_STATE_HOME": str(self.state),
            "TMPDIR": str(self.temporary),
            "HOME": str(self.home),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What was done to what, when."""

    arguments: Sequence[str]
    signal: signal.Signals
    after_s: float

    def __str__(self) -> str:
        where = pathlib.Path(self.arguments[self.arguments.index("--cluster") + 1]).stem
        words = [where.replace("stand-in", "kind"), self.arguments[0]]
        return f"{' '.join(words)} {self.signal.name} after {self.after_s:.2f} s"


def choices(place: Place) -> list[list[str]]:
    """A run and a cluster that stays, on the embedded server, on kind, and on a local control plane where there is an etcd."""
    profile = place.folder / "stand-in.toml"
    profile.write_text(standing_in.profile_text())
    clusters = [["--cluster", "embedded"], ["--cluster", str(profile)]]
    etcd = shutil.which("etcd")
    if etcd is not None:
        binaries = place.folder / "binaries"
        commands.install(binaries, "kube-apiserver")
        (binaries / "etcd").symlink_to(etcd)
        clusters.append(["--cluster", "local", "--binaries", str(binaries)])
    run = ["run", str(running.scenario(place.folder)), "--reports", "reports"]
    stay = ["cluster", "up", "--name", place.stays, "--nodes", "2", "--devices-per-node", "2"]
    return [[*first, *where] for where in clusters for first in (run, stay)]


def draw(random_: random.Random, possible: list[list[str]]) -> Moment:
    """A command, a signal, a moment: early ones more often, for there the most is half done."""
    longest = random_.choice([0.5, 2.0, 6.0, 12.0])
    return Moment(
        arguments=random_.choice(possible),
        signal=random_.choice(SIGNALS),
        after_s=random_.uniform(0.0, longest),
    )


def left_after(moment: Moment, place: Place) -> tuple[list[str], list[str]]:
    """What was left, in words, when the command had been hit, and what was still left when prune had run."""
    with running.started(place.folder, *moment.arguments, env=place.environment()) as command:
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(moment.after_s)
        if command.process.poll() is None:
            os.kill(command.process.pid, moment.signal)
        command.process.wait(GRACE_S)
        before = _everything(command, place)
        _settle(moment, place)
        with contextlib.suppress(errors.WaitTimeoutError):
            clocks.wait_until(lambda: not command.others(), timeout_s=3, why="processes to be gone")
        return before, _everything(command, place)


def _settle(moment: Moment, place: Place) -> None:
    """A cluster that came up in time is meant to stay; so it is taken down. Then prune."""
    entries = list((place.state / "flake-hunt" / "clusters").glob("*.json"))
    if "up" in moment.arguments and entries and '"state":"up"' in entries[0].read_text():
        _flake_hunt(place, "cluster", "down", place.stays)
    _flake_hunt(place, "cluster", "prune", "--older-than", "0")


def _flake_hunt(place: Place, *arguments: str) -> None:
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


def _everything(command: running.Command, place: Place) -> list[str]:
    return [*_processes(command), *_files(place), *_on_engine(place)]


def _processes(command: running.Command) -> list[str]:
    return [f"process {pid} {line}" for pid, line in command.others().items()]


def _files(place: Place) -> list[str]:
    """Entries, folders of clusters, temporary files, and kubeconfigs wherever they are."""
    kept = [
        *(place.state / "flake-hunt" / "clusters").glob("*"),
        *(path for path in place.temporary.iterdir() if not path.name.startswith(STAND_IN)),
        *place.home.rglob("*"),
        *place.folder.glob("reports/**/cluster/*kubeconfig*"),
        *place.folder.glob("reports/**/*.key"),
        *running.in_memory(place.folder, place.stays),
    ]
    return [f"file {path}" for path in kept]


def _on_engine(place: Place) -> list[str]:
    """The network `kind` is kind's own and is shared: it stays, as it does after `kind delete cluster`."""
    left = place.engine.left()
    return [f"{kind} {name}" for kind, names in left.items() for name in names]


def main(count: int) -> int:
    """The full one."""
    seed = int(os.environ.get("SEED", "1"))
    random_, failures, tally = random.Random(seed), [], collections.Counter[str]()
    left_first = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with standing_in.started(folder / "engine") as engine:
            place = Place(folder=folder, engine=engine)
            possible = choices(place)
            for number in range(count):
                moment = draw(random_, possible)
                before, left = left_after(moment, place)
                tally[" ".join(str(moment).split()[:3])] += 1
                left_first += bool(before)
                sys.stdout.write(
                    f"{number + 1} {moment}: {len(before)} things left by the command, by prune "
                    f"{'; '.join(left) or 'nothing'}\n"
                )
                sys.stdout.flush()
                failures += [f"{moment}: {item}" for item in left]
    sys.stdout.write(
        f"seed {seed}, {count} moments, something left by the command {left_first} times, by prune "
        f"{len(failures)} things; {dict(tally)}\n"
    )
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill commands at random moments, then prune.")
    parser.add_argument("count", type=int, help="number of moments")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(**vars(_arguments())))
