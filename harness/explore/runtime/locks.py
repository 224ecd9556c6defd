"""Locks, condition variables and batons of the controlled runtime.

Taking one is a choice point, unless it is private, and orders the tasks that take it.
"""

import contextlib
import functools
import zlib
from collections.abc import Iterator
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
        return self._held

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
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


class UsedLock:
    """A lock for a `with` block that uses what it guards in such a way."""

    def __init__(self, lock: ControlledLock, how: Use) -> None:
        self._lock, self._how = lock, how

    def __enter__(self) -> None:
        self._lock.acquire_to(self._how)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


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
        self._use_waiters(self._how)
        for task in self._sleeping[:n]:
            self._runtime.wake(task)
        del self._sleeping[:n]

    def notify_all(self) -> None:
        self.notify(len(self._sleeping))


@functools.lru_cache(maxsize=4096)
def _number(part: concurrency.Part) -> int:
    """Return a number of a part that is the same in every process.

    Two parts with one number would count as one, which is more uses than there are.
    """
    return zlib.crc32("\0".join(part).encode())


class ControlledBaton(tasks.Shared, concurrency.Baton):
    """A role that one task at a time has.

    To take it and to put it down are uses of an object of its own, besides those of the lock. A
    task that awaits it cannot go on, and the task that has it holds it like a lock, so that no race
    asks for orders in which another task only finds that it has to wait.
    """

    def __init__(
        self,
        runtime: "scheduler.ControlledRuntime",
        guard: ControlledLock,
        name: str,
        past: int,
    ) -> None:
        super().__init__(past)
        self._runtime, self._guard, self._name = runtime, guard, name
        self._holder: tasks.Task | None = None
        self._waiting: list[tasks.Task] = []

    @property
    def is_blocking(self) -> bool:
        return self._holder is not None or self._guard.is_blocking

    @property
    def is_taken(self) -> bool:
        """True if a task has it; the lock must be held."""
        self._runtime.observe(self)
        return self._holder is not None

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        """Wait until no task has it, at a choice point; the `with` block holds the lock."""
        self._guard.acquire_to(Use.IN_PARTS, obstacle=self)
        while self._holder is not None:
            self._guard.release()
            self._wait()
            self._guard.take_here(how=Use.IN_PARTS)
        self._runtime.observe(self)
        try:
            yield
        finally:
            self._guard.release()

    def _wait(self) -> None:
        task = self._runtime.current
        self._waiting.append(task)
        task.obstacle = self
        self._runtime.block(f"baton {self._name}")

    def take(self) -> None:
        """Take it, under the lock. Raises RuntimeError if a task has it."""
        if self._holder is not None:
            raise RuntimeError(f"expected a baton that no task has, got {self._name}")
        self._runtime.touch(self)
        self._holder = self._runtime.current
        self._holder.held.append(self)

    def put_down(self) -> None:
        """Put it down, under the lock, and wake those who await it."""
        self._runtime.touch(self)
        if self._holder is not None:
            self._holder.held.remove(self)
            self._holder = None
        self._runtime.released(self)
        for task in self._waiting:
            self._runtime.wake_to_compete(task)
        self._waiting.clear()
