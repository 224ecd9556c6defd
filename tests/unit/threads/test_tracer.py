"""The tracer on a program with threads: nothing is lost, and nothing is left."""

import os
import pathlib
import signal
import subprocess

import pytest

from harness import clocks
from harness.threads import messages, tracer_session
from tests.unit.threads import programs

QUEUED = signal.SIGRTMIN + 3
"""A signal of which none is lost, as the kernel queues it."""
Start = programs.Start


def everywhere(**keys: object) -> messages.Try:
    never_busy = {"busy_visits": 1_000_000_000}
    return messages.Try(name="all", functions=programs.FUNCTIONS, **{**never_busy, **keys})


def begin(traced: programs.Traced, tried: messages.Try) -> None:
    """Begin a try before the threads of the program have begun."""
    traced.session.tell(messages.Try(name="before", functions=[]))
    traced.session.tell(tried)
    traced.told("before", "ended")


def test_every_visit_is_counted_once_and_the_output_is_unchanged(
    start: Start, loops: pathlib.Path
) -> None:
    traced = start(loops, 100, "exit", 3)
    begin(traced, everywhere())
    traced.type()
    assert traced.line() == programs.untraced(loops, 100)
    counts = traced.counted(everywhere())
    assert counts == programs.loops_counts(100)
    assert sum(counts.values()) > 20_000
    traced.type()
    assert traced.line() == "signals 0 traps 0"
    assert traced.ended() == (3, "")
    traced.require_nothing_left()


def test_holds_at_random_lose_nothing(start: Start, loops: pathlib.Path) -> None:
    turns = 30
    traced = start(loops, turns, "exit", 0)
    tried = everywhere(seed=7, probability=0.05, hold_s=[0.0, 0.001, 0.004])
    begin(traced, tried)
    traced.type()
    for _ in range(40):
        os.kill(traced.pid, QUEUED)
    assert traced.line() == programs.untraced(loops, turns)
    assert traced.counted(tried) == programs.loops_counts(turns)
    traced.type()
    assert traced.line() == "signals 40 traps 0"
    kinds = traced.kinds("all")
    assert kinds.count("held") == kinds.count("expired") > 100
    assert traced.ended() == (0, "")


def test_chosen_visits_are_held_and_no_others(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 40, "exit", 0)
    place = "entry of main.checked called by main.work"
    tried = everywhere(chosen=[(place, 3), (place, 11)], quiet_s=0.001, quiet_max_s=0.2)
    begin(traced, tried)
    traced.type()
    assert traced.line() == programs.untraced(loops, 40)
    assert traced.counted(tried) == programs.loops_counts(40)
    held = [item for item in traced.session.told if item.kind == "held"]
    assert [(item.place, item.visit) for item in held] == [(place, 3), (place, 11)]
    assert held[0].stack[:2] == ["main.checked", "main.work"]


def test_a_thread_is_held_until_it_is_released(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 3, "exit", 0)
    traced.watch("first", "entry of main.large")
    traced.watch("deep", "return of deep to deep", holds=False, visit=17)
    traced.type()
    held = traced.told("first", "held")
    assert (held.function, held.caller) == ("main.large", "main.work")
    passed = traced.told("deep", "passed")
    assert passed.place == "return of main.deep to main.deep"
    clocks.sleep(0.05)
    assert traced.is_stopped()
    traced.release("first")
    assert traced.line() == programs.untraced(loops, 3)
    assert traced.kinds("first") == ["watched", "held", "released"]


def test_the_nth_visit_is_held_whoever_else_looks_at_the_place(
    start: Start, loops: pathlib.Path
) -> None:
    traced = start(loops, 20, "exit", 0)
    for name, visit, holds in (("one", 1, True), ("two", 2, False), ("six", 6, True)):
        traced.watch(name, "entry of huge", visit=visit, holds=holds)
    traced.watch("all", "entry of h*", visit=programs.THREADS * 20 * 2, holds=False)
    traced.type()
    traced.told("two", "passed")
    traced.told("six", "held")
    goroutines = {traced.told(name, "held").goroutine for name in ("one", "six")}
    assert len(goroutines) == 2
    for name in ("one", "six"):
        traced.release(name)
    assert traced.line() == programs.untraced(loops, 20)
    traced.told("all", "passed")


def test_a_thread_goes_on_by_itself_when_its_time_is_over(
    start: Start, loops: pathlib.Path
) -> None:
    traced = start(loops, 3, "exit", 0)
    traced.watch("short", "entry of small", hold_max_s=0.05)
    traced.type()
    expired, held = traced.told("short", "expired"), traced.told("short", "held")
    assert expired.ts_ns - held.ts_ns >= 50_000_000
    assert traced.line() == programs.untraced(loops, 3)
    traced.release("short")  # too late, and no harm
    traced.type()
    assert traced.line() == "signals 0 traps 0"


def test_a_watch_that_is_released_before_holds_nobody(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 3, "exit", 0)
    traced.watch("early", "entry of small")
    traced.release("early")
    traced.watch("other", "entry of large", holds=False)
    traced.type()
    assert traced.line() == programs.untraced(loops, 3)
    assert traced.kinds("early") == ["watched"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("entry of checkedd", "Did you mean 'checked'"),
        ("exit of leaf", "expected a place as"),
    ],
)
def test_a_place_that_is_none_is_refused_and_the_program_runs_on(
    start: Start, loops: pathlib.Path, place: str, words: str
) -> None:
    traced = start(loops, 3, "exit", 0)
    traced.session.tell(messages.Watch(name="bad", place=place, holds=True))
    clocks.wait_until(lambda: traced.kinds("bad"), timeout_s=10, why="an answer")
    (answer,) = [item for item in traced.session.told if item.name == "bad"]
    assert answer.kind == "refused"
    assert words in answer.text
    traced.type()
    assert traced.line() == programs.untraced(loops, 3)


def test_a_function_that_runs_all_the_time_is_left(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 20_000, "exit", 0)
    tried = everywhere(busy_visits=50, seed=1, probability=0.1, hold_s=[0.001])
    begin(traced, tried)
    traced.type()
    assert traced.line() == programs.untraced(loops, 20_000)
    counts = traced.counted(tried)
    assert sum(count for place, count in counts.items() if "main.checked" in place) == 51
    assert set(counts) <= set(programs.loops_counts(20_000))
    assert not traced.is_stopped()


def test_a_function_that_was_left_comes_again_after_a_rest(
    start: Start, loops: pathlib.Path
) -> None:
    traced = start(loops, 10_000_000, "exit", 0)
    begin(traced, everywhere(busy_visits=20, rest_s=0.05, probability=1.0, hold_s=[0.0]))
    traced.type()

    def holds() -> int:
        traced.session.read()
        return sum(item.kind == "held" for item in traced.session.told)

    most = len(programs.FUNCTIONS) * (20 + 1)
    clocks.wait_until(lambda: holds() > 2 * most, timeout_s=programs.LIMIT_S, why="holds")


# ------------------------------------------------------------------------ signals and ends


def test_signals_all_arrive(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 60, "exit", 0)
    begin(traced, everywhere())
    os.kill(traced.pid, signal.SIGTRAP)  # before there are stops: it could be taken for one
    traced.type()
    for _ in range(300):
        os.kill(traced.pid, QUEUED)
        clocks.sleep(0.001)
    assert traced.line() == programs.untraced(loops, 60)
    assert traced.counted(everywhere()) == programs.loops_counts(60)
    traced.type()
    assert traced.line() == "signals 300 traps 1"


def test_its_end_is_told_to_it_in_the_middle_of_everything(
    start: Start, loops: pathlib.Path
) -> None:
    traced = start(loops, 1_000_000, "term")
    begin(traced, everywhere())
    traced.watch("held", "entry of huge", visit=40)
    traced.type()
    traced.told("held", "held")
    traced.tracer.terminate()
    assert traced.ended() == (7, "")
    traced.require_nothing_left()


def test_commands_are_heard_while_every_thread_stops(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 1_000_000, "exit", 0)
    begin(traced, everywhere())
    traced.type()
    for number in range(5):
        traced.watch(str(number), "entry of twice")
        traced.told(str(number), "held")
        traced.release(str(number))
        traced.told(str(number), "released")


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL, signal.SIGTERM, QUEUED + 1])
def test_it_dies_by_the_signal_of_the_program(
    start: Start, loops: pathlib.Path, number: int
) -> None:
    traced = start(loops, 3, "signal", number)
    traced.watch("never", "entry of leaf called by main")
    traced.type("\n\n")
    assert traced.ended() == (-number, "")
    traced.require_nothing_left()


@pytest.mark.parametrize("is_held", [False, True])
def test_a_killed_tracer_takes_everything_with_it(
    start: Start, loops: pathlib.Path, is_held: bool
) -> None:
    traced = start(loops, 1_000_000, "exit", 0)
    begin(traced, everywhere())
    traced.watch("held", "entry of leaf", visit=1 if is_held else 1_000_000_000)
    traced.type()
    if is_held:
        traced.told("held", "held")
    traced.tracer.kill()
    assert traced.ended()[0] == -signal.SIGKILL
    traced.require_nothing_left()


def test_a_program_that_is_killed_under_a_hold_is_gone(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 1_000_000, "exit", 0)
    traced.watch("held", "entry of leaf")
    traced.type()
    traced.told("held", "held")
    os.kill(traced.pid, signal.SIGKILL)
    assert traced.ended() == (-signal.SIGKILL, "")
    traced.require_nothing_left()


@pytest.mark.parametrize("has_read", [False, True])
def test_all_threads_go_on_when_nobody_commands_any_more(
    start: Start, loops: pathlib.Path, has_read: bool
) -> None:
    traced = start(loops, 50, "exit", 5)
    begin(traced, everywhere(probability=0.5, hold_s=[0.001]))
    traced.watch("held", "entry of huge", visit=9)
    traced.type()
    traced.told("held", "held")
    if not has_read:
        clocks.sleep(0.1)
    traced.session.close()
    assert traced.line() == programs.untraced(loops, 50)
    assert not traced.is_stopped()
    traced.type()
    assert traced.ended() == (5, "")
    traced.require_nothing_left()


def test_a_run_that_does_not_read_holds_nobody(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 40, "exit", 0)
    begin(traced, everywhere(seed=1, probability=0.5, hold_s=[0.0]))
    traced.type()
    assert traced.line() == programs.untraced(loops, 40)
    counts = traced.counted(everywhere())
    assert counts == programs.loops_counts(40)
    assert traced.kinds("all").count("held") > 2000


def test_a_program_that_becomes_another_one_is_refused(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 3, "exec", "/bin/sleep", 60)
    traced.watch("leaf", "entry of leaf", holds=False)
    traced.type("\n\n")
    code, errors = traced.ended()
    assert code == 2
    assert "but it has executed another one: " in errors
    assert len(errors.splitlines()) == 1
    traced.require_nothing_left()


def test_a_program_may_start_others(start: Start, loops: pathlib.Path) -> None:
    traced = start(loops, 3, "spawn", "/bin/true")
    traced.watch("leaf", "entry of leaf", holds=False)
    traced.type("\n\n")
    assert traced.ended() == (3, "")


def test_what_cannot_be_traced_is_refused_in_one_sentence(
    tmp_path: pathlib.Path, loops: pathlib.Path
) -> None:
    script, locked, socket = (tmp_path / name for name in ("script", "locked", "program.threads"))
    script.write_text("#!/bin/sh\n")
    locked.write_bytes(loops.read_bytes())
    locked.chmod(0o600)
    for program, words in (
        (script, "it is no ELF file"),
        (tmp_path / "none", "No such file"),
        (locked, "Permission denied"),
    ):
        done = subprocess.run(
            tracer_session.command(socket, [str(program)]),
            capture_output=True,
            text=True,
            timeout=20,
        )
        (line,) = done.stderr.splitlines()
        assert (done.returncode, line.startswith("flake-hunt: "), words in line) == (2, True, True)
        assert not socket.exists()


def test_the_socket_of_another_tracer_stays(
    start: Start, loops: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    socket = tmp_path / "program.threads"
    with subprocess.Popen(
        tracer_session.command(socket, [str(loops), "1", "exit", "0"]), stdin=subprocess.PIPE
    ) as first:
        clocks.wait_until(socket.exists, timeout_s=20, why="the first")
        second = subprocess.run(
            tracer_session.command(socket, [str(loops), "1", "exit", "0"]),
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert second.returncode == 2
        assert "in use" in second.stderr
        assert socket.exists()
        assert first.stdin is not None
        first.stdin.close()
        assert first.wait(20) == 9
    assert not socket.exists()
