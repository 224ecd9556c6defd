"""Hooks, signal handlers and the like: a test may change them only for as long as it lasts."""

import gc
import os
import pathlib
import signal
import sys
import threading
from typing import Any

from harness.cluster import state_folder

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXPECTED = ("PYTEST_CURRENT_TEST", state_folder.VARIABLE)
"""Variables that a session changes, and the mark of all processes that a hunt's process starts."""


def read() -> dict[str, Any]:
    """Return hooks, signal handlers, the environment and the like, by their names."""
    return {
        "threading.excepthook": threading.excepthook,
        "sys.excepthook": sys.excepthook,
        "sys.unraisablehook": sys.unraisablehook,
        "the switch interval": sys.getswitchinterval(),
        "garbage collection": gc.isenabled(),
        "the working directory": _working_directory(),
        **{f"the handler of {item.name}": signal.getsignal(item) for item in _SIGNALS},
        **{f"${key}": text for key, text in os.environ.items() if key not in _EXPECTED},
    }


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return what is not as it was before, in words."""
    return [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]


def _working_directory() -> str:
    try:
        return str(pathlib.Path.cwd())
    except FileNotFoundError:
        return "a folder that is gone"
