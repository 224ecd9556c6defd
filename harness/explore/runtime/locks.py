"""Locks and condition variables of the controlled runtime.

Taking one is a choice point, unless it is private, and orders the tasks that take it.
"""

import functools
import zlib
from types import TracebackType
from typing import TYPE_CHECKING

from harness import concurrency
from harness.concurrency import Use
from harness.explore.runtime import tasks

if TYPE_CHECKING:
    from harness.explore.runtime import scheduler

_NO_PARTS = hash(frozenset())
_WAITERS = ("", "waiters")
"""The part of a condition that waiting and notifying use."""


class ControlledLock(tasks.Shared):
    """A mutual exclusion lock."""

    def __init__(
        self, runtime: "scheduler.ControlledRuntime", name: str, past: int, *, is_private: bool
    ) -> None:
        super().__init__(past)
        self._runtime, self._name, self._is_private = runtime, name, is_private
        self._holder: tasks.Task | None = None
        self._held = False
        self._how = Use.WRITE
        """How the holder uses what the lock guards."""
        self._parts: dict[concurrency.Part, tasks.Shared] = {}
        self._waiting: list[tasks.Task] = []

    @property
    def is_blocking(self) -> bool:
        """True while a task holds the lock."""
        return self._held

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock, at a choice point."""
        del timeout
        if not self._is_private:
            self._await_at_point(self if blocking else None)
        return self.take_here(blocking=blocking)

    def _await_at_point(self, obstacle: tasks.Shared | None) -> None:
        if (running := self._runtime.running) is not None:
            running.obstacle = obstacle
        self._runtime.point()

    def acquire_to(self, how: Use, obstacle: tasks.Shared | None = None) -> None:
        """Take the lock, at a choice point, for such a use of what it guards.

        `obstacle`: what the task needs besides, which includes the lock; None: nothing.
        """
        if not self._is_private:
            self._await_at_point(obstacle or self)
        self.take_here(how=how)

    def take_here(self, *, blocking: bool = True, how: Use = Use.WRITE) -> bool:
        """Take the lock without a choice point, unless it is held: then wait if `blocking`."""
        while self._held:
            if not blocking:
                self._runtime.observe(self, self._parts_past())
                return False
            self._waiting.append(self._runtime.current)
            self._runtime.current.obstacle = self
            self._runtime.block(f"lock {self._name}")
        self._held = True
        self._holder = holder = self._runtime.running
        if holder is not None:
            holder.obstacle = None
            holder.held.append(self)
        self._how = how
        if how is Use.IN_PARTS:
            self._runtime.observe_in_parts(self)
        elif how is Use.READ:
            self._runtime.observe(self, self._parts_past())
        else:
            self._runtime.touch(self, self._parts_past())
        return True

    def _parts_past(self) -> int:
        if not self._parts:  # as nearly always
            return _NO_PARTS
        return hash(frozenset((it.identity, it.past, it.added) for it in self._parts.values()))

    def hold_whole(self) -> None:
        """Record that another task may want the lock while it is held."""
        if self._how is Use.IN_PARTS:
            self._how = Use.WRITE
            self._runtime.touch(self, self._parts_past())

    def use_part(self, name: concurrency.Part, how: Use) -> None:
        if self._holder is not self._runtime.running:
            self._runtime.observe_in_parts(self)
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = tasks.Shared(hash((self.identity, _number(name))))
        if how is Use.READ:
            self._runtime.observe(part)
            return
        if how is Use.ADD:
            self._runtime.add_to(part)
        else:
            self._runtime.touch(part)

    def release(self) -> None:
        """Release the lock and wake all waiting tasks, which compete for it."""
        self._held = False
        if self._holder is not None:
            self._holder.held.remove(self)
            self._holder = None
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

    _how = Use.READ

    def __init__(self, lock: ControlledLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.acquire_to(self._how)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class PartLock(ReadLock):
    """A lock for a `with` block that names every part that it uses."""

    _how = Use.IN_PARTS


class ControlledCondition(ControlledLock):
    """A condition variable with its own lock."""

    def __init__(
        self, runtime: "scheduler.ControlledRuntime", name: str, past: int, *, is_private: bool
    ) -> None:
        super().__init__(runtime, name, past, is_private=is_private)
        self._sleeping: list[tasks.Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait for a notification, take the lock again; False on timeout."""
        task, how = self._runtime.current, self._how
        self._sleeping.append(task)
        self._use_waiters(how)
        if how is not Use.IN_PARTS:
            self._runtime.touch(self, self._parts_past())
        self.release()
        task.obstacle = self
        notified = self._runtime.block(f"condition {self._name}", timeout=timeout)
        if not notified and task in self._sleeping:
            self._use_waiters(how)
            self._sleeping.remove(task)
        self.take_here(how=how)  # no choice point: the task has just been chosen to run
        return notified

    def _use_waiters(self, how: Use) -> None:
        """Record a use of the list of waiters, if that of the lock does not include it."""
        if how is Use.IN_PARTS:
            self.use_part(_WAITERS, Use.WRITE if self._sleeping else Use.READ)

    def notify(self, n: int = 1) -> None:
        """Wake the first n waiters."""
        self._use_waiters(self._how)
        for task in self._sleeping[:n]:
            self._runtime.wake(task)
        del self._sleeping[:n]

    def notify_all(self) -> None:
        """Wake all waiters."""
        self.notify(len(self._sleeping))


@functools.lru_cache(maxsize=4096)
def _number(part: concurrency.Part) -> int:
    """Return a number of a part that is the same in every process.

    Two parts with one number would count as one, which is more uses than there are.
    """
    return zlib.crc32("\0".join(part).encode())
