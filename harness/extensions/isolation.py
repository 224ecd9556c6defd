"""Runs code of plug-ins in a process of its own, with a time limit.

Such a process is a module of the harness. It reads one message from its standard input and answers
with one on its standard output; what the plug-in prints goes to standard error.
"""

import contextlib
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from harness import errors, prepared_processes

TIMEOUT_VARIABLE = "FLAKE_HUNT_PLUGIN_TIMEOUT_S"
"""Environment variable with the time limit for one answer of a plug-in, in seconds."""
TIMEOUT_S = 60.0
FAILED = 3
"""Exit code of a process whose plug-in has failed; its answer is the reason."""
_SLACK_S = 5
"""Seconds after the time limit in which this process has ended the other one, if it lives."""


def time_limit_s() -> float:
    """Return the time limit for one answer, in seconds. Raises UsageError if it is no number."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        limit = float(text) if text else TIMEOUT_S
    except ValueError:
        limit = 0.0
    if not (limit > 0 and math.isfinite(limit)):
        raise errors.UsageError(
            f"expected seconds above 0 in {TIMEOUT_VARIABLE}, got {text!r}: set a number, or unset it"
        )
    return limit


def ask(module: str, arguments: Sequence[str], message: bytes, *, plugin: str) -> bytes:
    """Run a module of the harness in a process of its own, and return its answer.

    `plugin` names the plug-in in errors. Raises PluginError, in one sentence, if it fails, ends, or
    does not answer in time.
    """
    limit_s = time_limit_s()
    child = subprocess.Popen(
        [*prepared_processes.PYTHON, "-m", module, *arguments, repr(limit_s + _SLACK_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        answer, output = child.communicate(message, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise errors.PluginError(
            f"expected {plugin} to answer within {limit_s:g} s, but it did not; {TIMEOUT_VARIABLE} "
            "is the limit"
        ) from error
    finally:
        _end(child)
    if child.returncode == FAILED and answer:
        raise errors.PluginError(answer.decode(errors="replace"))
    if child.returncode or not answer:
        lines = output.decode(errors="replace").strip().splitlines()
        said = f"; its last words: {lines[-1][:300]}" if lines else ""
        raise errors.PluginError(
            f"expected {plugin} to answer, but its process ended with exit code "
            f"{child.returncode}{said}"
        )
    return answer


def answer(respond: Callable[[bytes], bytes]) -> None:
    """Answer the message on standard input; the main function of a module that `ask` runs.

    A PluginError of `respond` becomes the answer. The last argument of the process is the time, in
    seconds, after which it ends even if the one that asked has died.
    """
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[-1]))
    with _own_output() as output:
        try:
            given, code = respond(sys.stdin.buffer.read()), 0
        except errors.PluginError as error:
            given, code = str(error).encode(), FAILED
        with open(output, "wb", closefd=False) as file:
            file.write(given)
    sys.stderr.flush()
    os._exit(code)  # threads of the plug-in may still run


@contextlib.contextmanager
def _own_output() -> Iterator[int]:
    """Yield a descriptor for the answer; all else that is printed goes to standard error."""
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield output
    finally:
        os.close(output)


def _end(child: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
