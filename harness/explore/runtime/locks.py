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
        """Make a blocked task runnable, which could not have gone on without this."""

    def wake_to_compete(self, task: tasks.Task) -> None:
        """Make a task runnable that waits for a lock, which it could have had earlier."""

    def released(self, shared: tasks.Shared) -> None:
        """Record that the running task has released a lock."""


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

    @property
    def is_blocking(self) -> bool:
        """True while a task holds the lock."""
        return self._held

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock, at a choice point."""
        del timeout
        if not self._is_private:
            self._await_at_point(self if blocking else None)
        return self._take(blocking=blocking)

    def _await_at_point(self, obstacle: "ControlledLock | None") -> None:
        if (running := self._runtime.running) is not None:
            running.obstacle = obstacle
        self._runtime.point(self)

    def acquire_to_read(self) -> None:
        """Take the lock, at a choice point, without changing what it guards."""
        if not self._is_private:
            self._await_at_point(self)
        self._take(writes=False)

    def _take(self, *, blocking: bool = True, writes: bool = True) -> bool:
        while self._held:
            if not blocking:
                self._runtime.observe(self)
                return False
            self._waiting.append(self._runtime.current)
            self._runtime.current.obstacle = self
            self._runtime.block(f"lock {self._name}")
        self._held = True
        self._holder = holder = self._runtime.running
        if holder is not None:
            holder.obstacle = None
            holder.held.append(self)
        if writes:
            self._runtime.touch(self)
        else:
            self._runtime.observe(self)
        return True

    def release(self) -> None:
        """Release the lock and wake all waiting tasks, which compete for it."""
        self._held = False
        if self._holder is not None:
            self._holder.held.remove(self)
        self._runtime.released(self)
        if self._waiting:
            for task in self._waiting:
                self._runtime.wake_to_compete(task)
            self._waiting.clear()

    __enter__ = acquire

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class ReadLock:
    """A lock for a `with` block that changes nothing."""

    def __init__(self, lock: ControlledLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.acquire_to_read()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


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
        task.obstacle = self
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
