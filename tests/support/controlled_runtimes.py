"""Runtimes to test with, put in place by `concurrency.install`."""

from collections.abc import Callable
from types import TracebackType

from harness import concurrency


class WouldWaitForeverError(AssertionError):
    """A thread waited, without a timeout, for an event that no other thread can cause."""


class VirtualTime(concurrency.Runtime):
    """One thread, whose waits end at once and let virtual time pass instead."""

    def __init__(self) -> None:
        self.now_ns = 0

    def condition(self, name: str) -> concurrency.Condition:
        return _VirtualCondition(self, name)

    def monotonic_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    @property
    def now_s(self) -> float:
        return self.now_ns / 1e9


class _VirtualCondition:
    def __init__(self, runtime: VirtualTime, name: str) -> None:
        self._runtime, self._name = runtime, name

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return True

    def release(self) -> None:
        """One thread needs no lock."""

    def __enter__(self) -> bool:
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """One thread needs no lock."""

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            raise WouldWaitForeverError(self._name)
        self._runtime.now_ns += max(1, round(timeout * 1e9))
        return False

    def notify(self, n: int = 1) -> None:
        """Do not wait."""

    def notify_all(self) -> None:
        """Do not wait."""


def waits_forever(action: Callable[[], object]) -> bool:
    """Whether, under virtual time, the action would wait for good."""
    try:
        action()
    except WouldWaitForeverError:
        return True
    return False
