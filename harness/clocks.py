"""The one clock of the harness.

Times that are compared are CLOCK_MONOTONIC nanoseconds together with the boot id: they are comparable across the
processes of one host. Wall time is for display only. No clock ever enters a verdict. The subject does not import this
module: it takes its time from `concurrency`, where it can be controlled.
"""

import datetime
import functools
import pathlib
import time
from collections.abc import Callable

from harness import errors

_BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")


def monotonic_ns() -> int:
    """Nanoseconds of CLOCK_MONOTONIC; comparable across processes while the boot id is the same."""
    return time.monotonic_ns()


def wall_ns() -> int:
    """Nanoseconds since the epoch, for display only."""
    return time.time_ns()


def wall_text(nanoseconds: int | None = None) -> str:
    """`2026-01-31T23:59:59Z` for nanoseconds since the epoch, now when None."""
    return _second_text((wall_ns() if nanoseconds is None else nanoseconds) // 1_000_000_000)


@functools.lru_cache(16)  # a server asks thousands of times a second
def _second_text(seconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def wall_text_us() -> str:
    """`2026-01-31T23:59:59.123456Z`, now."""
    moment = datetime.datetime.fromtimestamp(wall_ns() / 1e9, tz=datetime.UTC)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def boot_id() -> str:
    """Names the boot of this host; times of two boots cannot be compared."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux: the monotonic clock still belongs to one boot, which has no name
        return "unknown"


def wait_until(
    condition: Callable[[], object], *, timeout_s: float, why: str, interval_s: float = 0.02
) -> None:
    """Return when the condition is truthy; raise WaitTimeoutError, which says why, after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            raise errors.WaitTimeoutError(f"waited {timeout_s:g} s for {why}; it did not happen")
        time.sleep(interval_s)


def sleep(seconds: float) -> None:
    """Let time pass where there is no condition to wait for, as in a fault that lasts a while."""
    time.sleep(seconds)
