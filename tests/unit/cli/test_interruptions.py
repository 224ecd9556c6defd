"""An interruption at any moment of the start: one line, exit code 130, no traceback."""

import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.cli import interruptions

ONE_LINE = "flake-hunt: interrupted\n"
INTERRUPTED_AT = """
import importlib.abc, os, runpy, signal, sys

class Interrupting(importlib.abc.MetaPathFinder):
    left, number = int(sys.argv[1]), getattr(signal, sys.argv[2])
    def find_spec(self, name, *_):
        if name == "pyexpat":
            return  # imported by the C code of _elementtree, which drops a KeyboardInterrupt
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)

from harness.cli import main  # before its first line the process is not ours: Python would print its own traceback
sys.meta_path.insert(0, finder := Interrupting())
sys.argv[:] = ["flake-hunt", *sys.argv[3:]]
try:
    main.main()
finally:
    sys.stderr.flush()
    if finder.left > 0:
        print(finder.left)
"""


def interrupted(at: int, number: signal.Signals, *arguments: str) -> tuple[int, str, str]:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, str(at), number.name, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def imports(*arguments: str) -> int:
    """How many modules are looked for, when nothing interrupts."""
    most = 1_000_000
    _, out, _ = interrupted(most, signal.SIGINT, *arguments)
    return most - int(out.splitlines()[-1])


def moments(count: int, *, parts: int) -> Iterator[int]:
    yield from range(1, count, count // parts)


@pytest.mark.parametrize("number", interruptions.SIGNALS)
def test_interrupted_during_imports(number: signal.Signals) -> None:
    for at in moments(imports("--version"), parts=6):
        assert interrupted(at, number, "--version") == (130, "", ONE_LINE), at


def test_interrupted_during_the_imports_of_a_command(tmp_path: pathlib.Path) -> None:
    """They come after the commands' own, and an exception is raised in them."""
    own, all_ = imports("--version"), imports("check", str(tmp_path))
    assert all_ > own + 50
    for at in moments(all_ - own, parts=5):
        code, _, err = interrupted(own + at, signal.SIGINT, "check", str(tmp_path))
        assert (code, err) == (130, ONE_LINE), own + at


def test_little_is_imported_before() -> None:
    """An interruption during these imports prints Python's own traceback."""
    code = "import os, sys; before = set(sys.modules); import harness.cli.interruptions; print(*set(sys.modules) - before)"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(ended.stdout.split()) <= {
        "signal",
        *("enum", "types", "operator", "_operator", "functools", "_functools", "collections"),
        *("keyword", "reprlib", "_collections", "itertools"),
        *("harness", "harness.cli", "harness.cli.interruptions"),
    }


def test_an_ignored_interruption_stays_ignored() -> None:
    """As with `nohup` or `&` in a script."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + INTERRUPTED_AT
    ended = subprocess.run(
        [sys.executable, "-c", code, "5", "SIGINT", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interruption_where_exceptions_are_lost_comes_afterwards(number: str) -> None:
    program = f"""
import signal, sys, time
from harness.cli import interruptions

class Deleted:
    def __del__(self):
        signal.raise_signal(signal.{number})
        time.sleep(0.05)  # the first try again comes too early

interruptions.end_at_once()
interruptions.raise_from_now_on()
Deleted()
try:
    time.sleep(10)
except KeyboardInterrupt:
    print("interrupted")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")
