"""Batons of the controlled runtime: a task that awaits one cannot go on, as with a lock.

To take one and to put it down are uses of an object of its own, besides those of the lock under
which it happens. The task that has it holds it like a lock, so that no race asks for orders in
which another task only finds that it has to wait.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.concurrency import Use
from harness.explore.runtime import locks, tasks

if TYPE_CHECKING:
    from harness.explore.runtime import scheduler


class ControlledBaton(tasks.Shared):
    """A role that one task at a time has: taken and put down under a condition variable's lock."""

    def __init__(
        self,
        runtime: "scheduler.ControlledRuntime",
        guard: locks.ControlledLock,
        name: str,
        past: int,
    ) -> None:
        super().__init__(past)
        self._runtime, self._guard, self._name = runtime, guard, name
        self._holder: tasks.Task | None = None
        self._waiting: list[tasks.Task] = []

    @property
    def is_blocking(self) -> bool:
        """True while a task has it, or holds the lock."""
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
