"""Locks and condition variables of the controlled runtime.

Taking one is a choice point, unless it is private, and orders the tasks that take it.
"""

from types import TracebackType
from typing import Protocol

from harness.explore.runtime import tasks


class LockRuntime(Protocol):
    """The part of the runtime that locks use."""

    running: tasks.Task | None
    """The running task; None in the explorer itself."""

    @property
    def current(self) -> tasks.Task:
        """The running task; raises RuntimeError in the explorer itself, which must not wait."""

    def point(self, *about_to: tasks.Shared) -> None:
        """Allow another task to run here."""

    def touch(self, shared: tasks.Shared) -> None:
        """Record that the running task changes, or may change, a shared object."""

    def observe(self, shared: tasks.Shared) -> None:
        """Record that the running task reads a shared object."""

    def block(self, what: str, *, timeout: float | None = None) -> bool:
        """Suspend the running task until `wake`; return False on timeout."""

    def wake(self, task: tasks.Task) -> None:
        """Make a blocked task runnable."""


class ControlledLock(tasks.Shared):
    """A mutual exclusion lock."""

    def __init__(self, runtime: LockRuntime, name: str, past: int, *, is_private: bool) -> None:
        super().__init__(past)
        self._runtime, self._name, self._is_private = runtime, name, is_private
        self._holder: tasks.Task | None = None
        self._held = False
        self._waiting: list[tasks.Task] = []

    @property
    def is_awaited(self) -> bool:
        """True if a task waits for the lock."""
        return bool(self._waiting)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock, at a choice point."""
        del timeout
        if not self._is_private:
            self._runtime.point(self)
        return self._take(blocking=blocking)

    def _take(self, *, blocking: bool = True) -> bool:
        while self._held:
            if not blocking:
                self._runtime.observe(self)
                return False
            self._waiting.append(self._runtime.current)
            self._runtime.block(f"lock {self._name}")
        self._held = True
        self._holder = holder = self._runtime.running
        if holder is not None:
            holder.held.append(self)
        self._runtime.touch(self)
        return True

    def release(self) -> None:
        """Release the lock and wake all waiting tasks, which compete for it."""
        self._held = False
        if self._holder is not None:
            self._holder.held.remove(self)
        if self._waiting:
            for task in self._waiting:
                self._runtime.wake(task)
            self._waiting.clear()

    __enter__ = acquire

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class ControlledCondition(ControlledLock):
    """A condition variable with its own lock."""

    def __init__(self, runtime: LockRuntime, name: str, past: int, *, is_private: bool) -> None:
        super().__init__(runtime, name, past, is_private=is_private)
        self._sleeping: list[tasks.Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait for a notification, take the lock again; False on timeout."""
        task = self._runtime.current
        self._sleeping.append(task)
        self._runtime.touch(self)
        self.release()
        notified = self._runtime.block(f"condition {self._name}", timeout=timeout)
        if not notified and task in self._sleeping:
            self._sleeping.remove(task)
        self._take()  # no choice point: the task has just been chosen to run
        return notified

    def notify(self, n: int = 1) -> None:
        """Wake the first n waiters."""
        for task in self._sleeping[:n]:
            self._runtime.wake(task)
        del self._sleeping[:n]

    def notify_all(self) -> None:
        """Wake all waiters."""
        self.notify(len(self._sleeping))
