"""What SIGINT and SIGTERM do: they end the process at once while there is nothing to remove, later they raise KeyboardInterrupt.

Imports nothing heavy, not even `typing`, so that it is in force early. Before that, while Python itself starts, it prints its own traceback.
"""

import os
import signal

EXIT_CODE = 130
MESSAGE = "interrupted"


def end_at_once() -> None:
    """End the process on SIGINT and SIGTERM without raising.

    An exception in the middle of an import would be printed, or an extension module would turn it into an ImportError.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def raise_from_now_on() -> None:
    """Raise KeyboardInterrupt instead, so that the command removes what it has made. (Stand-alone parts set their own handlers.)"""
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
    """Ignore a second SIGTERM during the clean-up. (Processes that are started meanwhile would inherit SIG_IGN.)"""
    del number, frame
