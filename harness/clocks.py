"""The clock of the harness.

Times that are compared are CLOCK_MONOTONIC nanoseconds together with the boot id, which makes them
comparable across the processes of one host. Wall time is for display only. The check of progress is
the only one that reads times, because its guarantee includes a time limit. The subject does not
import this module: it takes its time from `concurrency`, where it can be controlled.
"""

import datetime
import functools
import pathlib
import time
from collections.abc import Callable

from harness import errors

_BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")


def monotonic_ns() -> int:
    """Return CLOCK_MONOTONIC in nanoseconds.

    Values are comparable across processes while the boot id is the same.
    """
    return time.monotonic_ns()


def wall_ns() -> int:
    """Return nanoseconds since the epoch, for display only."""
    return time.time_ns()


def wall_text(nanoseconds: int | None = None) -> str:
    """Return a time as `2026-01-31T23:59:59Z`.

    `nanoseconds` since the epoch; None: now.
    """
    return _second_text((wall_ns() if nanoseconds is None else nanoseconds) // 1_000_000_000)


@functools.lru_cache(16)  # a server calls it thousands of times a second
def _second_text(seconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def wall_text_us() -> str:
    """Return the current time as `2026-01-31T23:59:59.123456Z`."""
    seconds, rest_ns = divmod(wall_ns(), 1_000_000_000)
    return f"{_second_text(seconds)[:-1]}.{rest_ns // 1000:06}Z"


def boot_id() -> str:
    """Return the id of this host's boot, "unknown" except on Linux.

    Monotonic times of different boots cannot be compared.
    """
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        return "unknown"


def wait_until(
    condition: Callable[[], object], *, timeout_s: float, why: str, interval_s: float = 0.02
) -> None:
    """Return when the condition is truthy. Raises WaitTimeoutError after the timeout.

    `why` completes the message "waited 5 s for …".
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            raise errors.WaitTimeoutError(f"waited {timeout_s:g} s for {why}; it did not happen")
        time.sleep(interval_s)


def sleep(seconds: float) -> None:
    """Sleep for a fixed time, where there is no condition to wait for."""
    time.sleep(seconds)
