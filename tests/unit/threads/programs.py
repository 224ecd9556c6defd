"""Programs with threads, started by the tracer as a run starts them."""

import contextlib
import os
import pathlib
import platform
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psutil

from harness import clocks
from harness.threads import messages, tracer_session
from tests.support import go_tables

SOURCES = pathlib.Path(__file__).parent
CALLS = ("checked", "small", "large", "huge", "indirect", "twice")
"""Functions that `loops` calls once a turn in each of its threads."""
THREADS = 8
LIMIT_S = 40.0
_FLAGS = ("-O1", "-fno-omit-frame-pointer", "-fcf-protection=none", "-fcall-used-r12", "-pthread")


def without_c() -> str:
    """Why the program in C cannot be built here; empty if it can."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "the program in C has functions in x86-64 instructions, for Linux"
    missing = [name for name in ("gcc", "nm", "objcopy") if shutil.which(name) is None]
    return f"not on PATH: {', '.join(missing)}" if missing else ""


def build_loops(folder: pathlib.Path) -> pathlib.Path:
    """Build `loops.c` with a table of its functions, as `main.NAME`."""
    program = folder / "loops"
    subprocess.run(["gcc", *_FLAGS, SOURCES / "loops.c", "-o", program], check=True)
    listed = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in listed.splitlines() if line[17:18] in {"t", "T"}]
    found = {f"main.{name}": int(address, 16) for address, _, name in lines}
    end = found.pop("main._fini")
    del found["main._init"]
    table = folder / "table"
    table.write_bytes(go_tables.table(found, text=min(found.values()), end=end))
    subprocess.run(["objcopy", "--add-section", f".gopclntab={table}", program], check=True)
    return program


def build_go(folder: pathlib.Path, tool: str, *options: str) -> pathlib.Path:
    """Build `loops.go`, stripped."""
    program = folder / "loops"
    environment = {**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0"}
    command = [tool, "build", "-ldflags", "-s -w", *options, "-o", program, SOURCES / "loops.go"]
    subprocess.run(command, check=True, env=environment)
    return program


def untraced(program: pathlib.Path, turns: int) -> str:
    """Return the line that a program prints after its loops."""
    argv = [program, str(turns), "exit", "0"]
    done = subprocess.run(argv, input="\n\n", capture_output=True, text=True)
    return done.stdout.splitlines()[1]


class Commanded:
    """A run's end of the socket of a tracer."""

    session: tracer_session.TracerSession

    def watch(self, name: str, place: str, **keys: Any) -> None:
        """Look at a place from now on."""
        self.session.tell(messages.Watch(name=name, place=place, **{"holds": True, **keys}))
        self.told(name, "watched")

    def release(self, name: str) -> None:
        self.session.tell(messages.Release(name=name))

    def told(self, name: str, *kinds: str) -> messages.Happened:
        """Wait until one of these things has happened to a watch or a try."""
        clocks.wait_until(
            lambda: self.session.find(name, *kinds) is not None,
            timeout_s=LIMIT_S,
            why=f"{kinds} of {name}",
        )
        found = self.session.find(name, *kinds)
        assert found is not None
        return found


class Traced(Commanded):
    """A program, the tracer that has started it, and the run's end of its socket."""

    def __init__(self, socket: pathlib.Path, argv: list[str], environment: Mapping[str, str]):
        self.socket = socket
        self.tracer = subprocess.Popen(
            tracer_session.command(socket, argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={"PATH": os.environ["PATH"], **environment},
        )
        self.session = tracer_session.TracerSession(socket)
        self.pid = int(self.line().split()[1])

    def line(self) -> str:
        """Return the next line of its output."""
        assert self.tracer.stdout is not None
        return self.tracer.stdout.readline().rstrip("\n")

    def type(self, text: str = "\n") -> None:
        assert self.tracer.stdin is not None
        self.tracer.stdin.write(text)
        self.tracer.stdin.flush()

    def kinds(self, name: str) -> list[str]:
        self.session.read()
        return [item.kind for item in self.session.told if item.name == name]

    def counted(self, tried: messages.Try) -> dict[str, int]:
        """Return the visits of a try, which ends now."""
        self.session.tell(messages.Try(name=f"after {tried.name}", functions=[]))
        return self.told(tried.name, "ended").counts

    def ended(self) -> tuple[int, str]:
        """Return the exit code and what was written as an error."""
        _, errors = self.tracer.communicate(timeout=LIMIT_S)
        return self.tracer.returncode, errors

    def require_nothing_left(self) -> None:
        """Neither a process nor the socket."""
        clocks.wait_until(
            lambda: is_gone(self.pid) and is_gone(self.tracer.pid),
            timeout_s=LIMIT_S,
            why="the processes to end",
        )
        assert not self.socket.exists()

    def is_stopped(self) -> bool:
        """Return whether a thread of the program is stopped."""
        tasks = pathlib.Path(f"/proc/{self.pid}/task").glob("*/stat")
        return any(path.read_text().rpartition(") ")[2][0] in "tT" for path in tasks)


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, if it is not one that this process has to collect."""
    try:
        process = psutil.Process(pid)
        return process.status() == psutil.STATUS_ZOMBIE and process.ppid() != os.getpid()
    except psutil.NoSuchProcess:
        return True


def _kill(traced: Traced) -> None:
    traced.session.close()
    if traced.tracer.poll() is None:
        traced.tracer.send_signal(signal.SIGKILL)
    traced.tracer.communicate()


Start = Callable[..., Traced]
"""Starts a program, with arguments and variables, by the tracer."""


@contextlib.contextmanager
def starting(folder: pathlib.Path) -> Iterator[Start]:
    """Provide what starts programs; they are killed in the end."""
    with contextlib.ExitStack() as started:

        def start(program: pathlib.Path, *arguments: object, **environment: str) -> Traced:
            argv = [str(program), *map(str, arguments)]
            traced = Traced(folder / "program.threads", argv, environment)
            started.callback(_kill, traced)
            return traced

        yield start


def loops_counts(turns: int) -> dict[str, int]:
    """Return how often each place of `loops` is visited."""
    places = dict.fromkeys([(name, "work") for name in CALLS], turns)
    rounds = -(-turns // 16)
    places |= {("leaf", "work"): turns, ("leaf", "twice"): 2 * turns, ("helper", "twice"): turns}
    places |= {("other", "indirect"): -(-turns // 2), ("leaf", "indirect"): turns // 2}
    places |= {("deep", "work"): rounds, ("deep", "deep"): 20 * rounds, ("leaf", "deep"): rounds}
    return {
        place: THREADS * count
        for (name, caller), count in places.items()
        for place in (
            f"entry of main.{name} called by main.{caller}",
            f"return of main.{name} to main.{caller}",
        )
    }


FUNCTIONS = [f"main.{name}" for name in (*CALLS, "leaf", "other", "helper", "deep")]
