"""The tracer on a program in Go: goroutines are preempted, and each visit counts once."""

import os
import pathlib
import signal

import pytest

from harness import clocks
from harness.threads import messages
from tests.support import real_programs
from tests.unit.threads import programs

TURNS = 80
NEVER = 1_000_000_000
"""Visits after which a function is left."""
FUNCTIONS = [
    f"main.{name}" for name in ("leaf", "large", "huge", "deep", "through", "nothing", "read")
]
FUNCTIONS += ["main.(*book).add", "main.(*counter).add"]


@pytest.fixture(scope="module", params=["exe", "pie"])
def go_loops(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    """A stripped program, without and with a load address that is drawn at its start."""
    tool = real_programs.go()
    if tool is None:
        pytest.skip("there is no Go: set FLAKE_HUNT_GO or PATH")
    folder = tmp_path_factory.mktemp(request.param)
    return programs.build_go(folder, tool, f"-buildmode={request.param}")


def counts(turns: int) -> dict[str, int]:
    """Return how often each place is visited."""
    rounds, half = -(-turns // 20), turns // 2
    calls = {(name, "work"): turns for name in ("leaf", "large", "huge", "through", "nothing")}
    calls |= {("large", "huge"): turns, ("read", "nothing"): turns}
    calls |= {("(*book).add", "through"): half, ("(*counter).add", "through"): half}
    calls |= {("deep", "work.func1"): rounds, ("deep", "deep"): 40 * rounds}
    visits = {
        f"entry of main.{name} called by main.{caller}": programs.THREADS * count
        for (name, caller), count in calls.items()
    }
    returns = {
        f"return of main.{name} to main.{caller}": programs.THREADS * count
        for (name, caller), count in calls.items()
        if name != "read"  # it panics
    }
    return visits | returns


@pytest.mark.parametrize("collector", ["off", "10"])
def test_each_visit_counts_once_in_spite_of_preemption(
    start: programs.Start, go_loops: pathlib.Path, collector: str
) -> None:
    traced = start(go_loops, TURNS, "exit", GOGC=collector)
    tried = messages.Try(name="all", functions=FUNCTIONS, busy_visits=NEVER)
    traced.session.tell(tried)
    traced.told("all", "begun")
    traced.type()
    assert traced.line() == programs.untraced(go_loops, TURNS)
    assert traced.counted(tried) == counts(TURNS)
    traced.type()
    assert traced.line() == "signals 0"
    assert traced.ended() == (3, "")
    traced.require_nothing_left()


def test_holds_at_random_change_nothing(start: programs.Start, go_loops: pathlib.Path) -> None:
    traced = start(go_loops, TURNS, "exit")
    tried = messages.Try(
        name="all",
        functions=FUNCTIONS,
        busy_visits=NEVER,
        seed=3,
        probability=0.02,
        hold_s=[0.0005, 0.002, 0.01],
    )
    traced.session.tell(tried)
    traced.told("all", "begun")
    traced.type()
    for _ in range(20):
        os.kill(traced.pid, signal.SIGUSR1)
        clocks.sleep(0.01)
    assert traced.line() == programs.untraced(go_loops, TURNS)
    assert traced.counted(tried) == counts(TURNS)
    traced.type()
    assert int(traced.line().split()[1]) > 0  # Go itself makes one of several
    assert traced.kinds("all").count("held") > 100
    assert traced.ended() == (3, "")


def test_a_goroutine_is_held_and_the_others_run_on(
    start: programs.Start, go_loops: pathlib.Path
) -> None:
    traced = start(go_loops, TURNS, "exit")
    traced.watch("book", "entry of (*book).add called by through")
    traced.watch("read", "entry of main.read", visit=100)
    traced.watch("deep", "return of deep to work.func1", visit=8, holds=False)
    traced.type()
    book, read = traced.told("book", "held"), traced.told("read", "held")
    assert book.stack[:3] == ["main.(*book).add", "main.through", "main.work"]
    assert read.stack[:3] == ["main.read", "main.nothing", "main.work"]
    traced.told("deep", "passed")
    traced.release("book")
    traced.release("read")
    assert traced.line() == programs.untraced(go_loops, TURNS)


def test_a_panic_ends_the_program_as_ever(start: programs.Start, go_loops: pathlib.Path) -> None:
    traced = start(go_loops, TURNS, "panic")
    traced.session.tell(messages.Try(name="all", functions=FUNCTIONS, busy_visits=NEVER))
    traced.type("\n\n")
    code, errors = traced.ended()
    assert code == 2
    assert errors.startswith("panic: told to")
    traced.require_nothing_left()
