"""Handlers of SIGINT, SIGTERM and SIGHUP.

While the command starts they end the process at once; later they raise KeyboardInterrupt, so that
the command cleans up. Imports only light modules, not even `typing`, to be installed early.
"""

import os
import signal
import types

EXIT_CODE = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MESSAGE = "interrupted"
AGAIN_S = 0.01
"""Seconds after which an interruption is tried again that came where exceptions are lost."""


def end_at_once() -> None:
    """End the process on a signal without an exception.

    During an import, an exception would print a traceback, or become an ImportError.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def raise_from_now_on() -> None:
    """Raise KeyboardInterrupt on a signal from now on, so that the command cleans up.

    Stand-alone parts install their own handlers.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is _end:
            signal.signal(number, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)


def _end(number: int, frame: object) -> None:
    del number, frame
    os.write(2, f"flake-hunt: {MESSAGE}\n".encode())
    os._exit(EXIT_CODE)


def _interrupt(number: int, frame: types.FrameType | None) -> None:
    if _loses_exceptions(frame):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        return
    if number != signal.SIGINT:
        signal.signal(number, _already)
    raise KeyboardInterrupt


def _loses_exceptions(frame: types.FrameType | None) -> bool:
    """In `__del__`, and in callbacks of weak references; the import system has one."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or (code.co_name == "cb" and "importlib" in code.co_filename):
            return True
        frame = frame.f_back
    return False


def _already(number: int, frame: object) -> None:
    """Ignore a second signal during clean-up. Not SIG_IGN, which child processes would inherit."""
    del number, frame
