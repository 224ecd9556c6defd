"""Handlers of SIGINT and SIGTERM.

While the command starts they end the process at once; later they raise KeyboardInterrupt, so that
the command cleans up. Imports only light modules, not even `typing`, to be installed early.
"""

import os
import signal

EXIT_CODE = 130
MESSAGE = "interrupted"


def end_at_once() -> None:
    """End the process on SIGINT and SIGTERM without an exception.

    During an import, an exception would print a traceback, or become an ImportError.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def raise_from_now_on() -> None:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM from now on, so that the command cleans up.

    Stand-alone parts install their own handlers.
    """
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)


def _end(number: int, frame: object) -> None:
    del number, frame
    os.write(2, f"flake-hunt: {MESSAGE}\n".encode())
    os._exit(EXIT_CODE)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    signal.signal(signal.SIGTERM, _already)
    raise KeyboardInterrupt


def _already(number: int, frame: object) -> None:
    """Ignore a second SIGTERM during clean-up. Not SIG_IGN, which child processes would inherit."""
    del number, frame
