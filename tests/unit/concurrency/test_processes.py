"""Real processes: started, stopped, and never outliving their owner."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from harness import clocks, errors, processes
from tests.support import ended_processes

TIMEOUT_S = 60.0
READY = 'import pathlib, sys; pathlib.Path(sys.argv[-1].partition("=")[2]).touch()'
FOREVER = "import signal\nwhile True:\n    signal.pause()\n"
Start = Callable[..., processes.Process]


def python(*lines: str, given: object = "") -> list[str]:
    return [sys.executable, "-c", "\n".join(lines), str(given)]


def wait_for(condition: Callable[[], object], why: str) -> None:
    clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why)


def read_pid(path: pathlib.Path) -> int:
    """The process id that a program writes into a file, with a line's end."""
    wait_for(lambda: path.exists() and path.read_text().endswith("\n"), f"{path.name}")
    return int(path.read_text())


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts processes that do not outlive the test, even when it fails."""
    started: list[processes.Process] = []

    def start(argv: list[str], **more: object) -> processes.Process:
        process = processes.start("part", argv, log=tmp_path / "part.log", **more)  # type: ignore[arg-type]
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


def test_output_and_exit_code_are_kept(start: Start, tmp_path: pathlib.Path) -> None:
    process = start(
        python("import os", "print('out', os.environ['COLOUR'], os.getcwd())"),
        env={"COLOUR": "blue"},
        folder=tmp_path,
    )
    assert process.wait(timeout_s=TIMEOUT_S) == 0
    assert process.poll() == 0
    assert process.log_tail() == f"out blue {tmp_path.resolve()}"
    assert process.stop(timeout_s=0) == 0


LAST = "\n".join(str(index) for index in range(100 - processes.LOG_LINES_SHOWN, 100))


@pytest.mark.parametrize(
    ("programs", "tail"),
    [
        (["print('first')", "print('second')"], "first\nsecond"),
        (["import sys\nfor i in range(100): print(i, file=sys.stderr)"], LAST),
        (["pass"], "(it printed nothing)"),
    ],
    ids=["appended", "few", "nothing"],
)
def test_the_last_words_of_a_log(start: Start, programs: list[str], tail: str) -> None:
    for program in programs:
        process = start(python(program))
        process.wait(timeout_s=TIMEOUT_S)
    assert process.log_tail() == tail
    process.log.unlink()
    assert process.log_tail() == "(no log)"


def test_a_child_outlives_the_thread_that_started_it(start: Start) -> None:
    """The kernel's parent of a child is a thread: its end must not kill the child."""
    started: list[processes.Process] = []
    thread = threading.Thread(target=lambda: started.append(start(python(FOREVER))))
    thread.start()
    thread.join(TIMEOUT_S)
    assert started[0].wait(timeout_s=0.3) is None
    assert started[0].poll() is None
    assert started[0].kill() == -signal.SIGKILL


def test_what_cannot_be_started_is_named(start: Start) -> None:
    with pytest.raises(errors.ProcessError, match=r"expected to start part .*no-such-program"):
        start(["/no-such-program"])


def test_stop_lets_a_process_end_in_order(start: Start, tmp_path: pathlib.Path) -> None:
    ready = tmp_path / "ready"
    process = start(
        python(
            "import pathlib, sys",
            "from harness import processes",
            "stopped = processes.StopEvent()",
            "processes.touch_ready(pathlib.Path(sys.argv[-1]))",
            "stopped.wait()",
            "print('in order')",
            "sys.exit(7)",
            given=ready,
        )
    )
    wait_for(ready.exists, "the process to be ready")
    assert process.stop(timeout_s=TIMEOUT_S) == 7
    assert process.log_tail() == "in order"


def test_a_signal_that_another_thread_receives_ends_the_wait(start: Start) -> None:
    """As the kernel delivers it to a process that was stopped."""
    process = start(
        python(
            "import signal, threading, time",
            "from harness import processes",
            "stopped = processes.StopEvent()",
            "def send():",
            "    time.sleep(0.2)",
            "    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)",
            "    time.sleep(3600)",
            "threading.Thread(target=send, daemon=True).start()",
            "print(stopped.wait(0.001), stopped.wait(), stopped.wait(0.001), stopped.is_set())",
        )
    )
    assert process.wait(timeout_s=TIMEOUT_S) == 0
    assert process.log_tail() == "False True True True"


def test_a_paused_process_does_nothing_until_it_is_resumed_or_stopped(start: Start) -> None:
    process = start(
        python(
            "import itertools, time",
            "from harness import processes",
            "stopped = processes.StopEvent()",
            "for number in itertools.count():",
            "    print(number, flush=True)",
            "    if stopped.wait(0.01): break",
        )
    )
    wait_for(lambda: process.log_tail() != "(it printed nothing)", "its first line")
    for _ in range(2):
        assert process.pause()
        seen = process.log.read_text()
        clocks.sleep(0.1)
        assert process.log.read_text() == seen
        process.resume()
        wait_for(lambda seen=seen: process.log.read_text() != seen, "it to go on")  # type: ignore[misc]
    assert process.pause()
    assert process.stop(timeout_s=TIMEOUT_S) == 0
    assert not process.pause()


def test_stop_kills_the_whole_group_of_a_process_that_does_not_listen(
    start: Start, tmp_path: pathlib.Path
) -> None:
    pid_file = tmp_path / "pid"
    process = start(
        python(
            "import os, pathlib, signal, sys",
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
            "child = os.fork()",
            "if child: pathlib.Path(sys.argv[-1]).write_text(f'{child}\\n')",
            FOREVER,
            given=pid_file,
        )
    )
    child = read_pid(pid_file)
    assert process.stop(timeout_s=0.01) == -signal.SIGKILL
    wait_for(lambda: ended_processes.is_gone(child), "the child to be gone")


def test_stop_also_kills_what_an_orderly_process_leaves_behind(
    start: Start, tmp_path: pathlib.Path
) -> None:
    pid_file = tmp_path / "pid"
    process = start(
        python(
            "import os, pathlib, sys",
            "child = os.fork()",
            "if child:",
            "    pathlib.Path(sys.argv[-1]).write_text(f'{child}\\n')",
            "    sys.exit(0)",
            FOREVER,
            given=pid_file,
        )
    )
    child = read_pid(pid_file)
    assert process.wait(timeout_s=TIMEOUT_S) == 0
    assert not ended_processes.is_gone(child)
    assert process.stop(timeout_s=TIMEOUT_S) == 0
    wait_for(lambda: ended_processes.is_gone(child), "the child to be gone")


def test_a_child_whose_parent_died_before_it_could_say_so_dies_as_well(start: Start) -> None:
    gone = start(python("")).pid
    process = start(
        python("from harness import bound_processes", f"bound_processes.die_with({gone})", FOREVER)
    )
    assert process.wait(timeout_s=TIMEOUT_S) == -signal.SIGKILL


@pytest.mark.parametrize("with_parent", [True, False])
def test_a_child_dies_with_its_parent_even_when_that_is_killed_unless_it_was_told_not_to(
    start: Start, tmp_path: pathlib.Path, with_parent: bool
) -> None:
    pid_file, ready = tmp_path / "pid", tmp_path / "ready"
    child_code = f"import pathlib\npathlib.Path({str(ready)!r}).touch()\n{FOREVER}"
    parent = start(
        python(
            "import pathlib, sys",
            "from harness import processes",
            f"argv = [sys.executable, '-c', {child_code!r}]",
            f"log = pathlib.Path({str(tmp_path / 'child.log')!r})",
            f"child = processes.start('child', argv, log=log, with_parent={with_parent})",
            f"pathlib.Path({str(pid_file)!r}).write_text(f'{{child.pid}}\\n')",
            FOREVER,
        )
    )
    child = read_pid(pid_file)
    try:
        wait_for(ready.exists, "the child to run")
        os.kill(parent.pid, signal.SIGKILL)
        assert parent.wait(timeout_s=TIMEOUT_S) == -signal.SIGKILL
        if with_parent:
            wait_for(lambda: ended_processes.is_gone(child), "the child to be gone")
        else:
            assert not ended_processes.is_gone(child)
    finally:
        if not ended_processes.is_gone(child):
            os.kill(child, signal.SIGKILL)


# ------------------------------------------------------------------- parts that get ready


def start_ready(tmp_path: pathlib.Path, *lines: str, timeout_s: float = TIMEOUT_S) -> object:
    return processes.start_ready(
        "part",
        python(*lines),
        log=tmp_path / "part.log",
        ready=tmp_path / "part.ready",
        timeout_s=timeout_s,
    )


def test_a_part_is_there_when_it_says_so(tmp_path: pathlib.Path) -> None:
    process = start_ready(tmp_path, READY, FOREVER)
    assert isinstance(process, processes.Process)
    assert process.poll() is None
    assert process.stop(timeout_s=TIMEOUT_S) == -signal.SIGTERM


def test_a_part_that_ends_first_is_reported_with_its_last_words(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.ProcessError) as caught:
        start_ready(tmp_path, "print('the port is taken')", "raise SystemExit(3)")
    assert "expected part to start, but it ended with exit code 3" in str(caught.value)
    assert "the port is taken" in str(caught.value)
    assert str(tmp_path / "part.log") in str(caught.value)


def test_a_part_that_is_never_ready_is_killed(tmp_path: pathlib.Path) -> None:
    pid_file = tmp_path / "pid"
    write_pid = f"open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}}\\n')"
    with pytest.raises(errors.WaitTimeoutError, match="part to be ready"):
        start_ready(tmp_path, "import os", write_pid, FOREVER, timeout_s=1.0)
    if pid_file.exists() and (text := pid_file.read_text()):  # else it was killed before it could
        assert ended_processes.is_gone(int(text))


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interruption_while_a_process_is_started_is_not_lost(
    tmp_path: pathlib.Path, number: str
) -> None:
    code = (
        "import os, pathlib, signal, sys\n"
        "from harness import bound_processes, processes\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "popen = bound_processes.popen\n"
        "def interrupted(*given, **options):\n"
        "    child = popen(*given, **options)\n"
        f"    os.kill(os.getpid(), signal.{number})\n"
        "    print(child.pid, flush=True)\n"
        "    return child\n"
        "bound_processes.popen = interrupted\n"
        "try:\n"
        "    processes.start('x', ['sleep', '60'], log=pathlib.Path(sys.argv[1]))\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 42
    assert ended_processes.is_gone(int(ended.stdout))


def test_a_process_is_started_without_hooks_around_a_fork(tmp_path: pathlib.Path) -> None:
    """They wait for locks that a thread may hold for ever."""
    code = (
        "import os, pathlib, sys\n"
        "from harness import processes\n"
        "os.register_at_fork(before=lambda: os._exit(3))\n"
        "processes.start('x', ['true'], log=pathlib.Path(sys.argv[1])).wait(timeout_s=30)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")], timeout=60, check=False
    )
    assert ended.returncode == 0


def test_a_program_gets_the_usual_signals(start: Start) -> None:
    """Python ignores SIGPIPE, also for the programs that it becomes."""
    process = start(["sh", "-c", "kill -PIPE $$; sleep 60"])
    assert process.wait(timeout_s=TIMEOUT_S) == -signal.SIGPIPE


def test_a_thread_that_fails_ends_the_process_with_one_line() -> None:
    program = python(
        "import threading, time",
        "from harness import processes",
        "processes.end_on_thread_failure('flake-hunt scheduler')",
        "def fail(): raise KeyError('two\\nlines')",
        "threading.Thread(target=fail, name='scheduling').start()",
        f"time.sleep({TIMEOUT_S})",
    )
    ended = subprocess.run(program, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("flake-hunt scheduler: thread scheduling failed: KeyError: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.endswith("(<string>:4)\n")
