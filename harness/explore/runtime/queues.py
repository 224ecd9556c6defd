"""Queues of the controlled runtime between one that appends and one that takes.

Taking an item depends on the append of this item, and on nothing that is appended later: the two
ends are different objects to an observer (as channels are in Godefroid's "Partial-Order Methods
for the Verification of Concurrent Systems", LNCS 1032, 1996). Taking is a choice point, and so is
appending unless it is part of an atomic commit.
"""

import collections
from typing import TYPE_CHECKING, Generic, TypeVar

from harness import concurrency
from harness.explore.runtime import tasks

if TYPE_CHECKING:
    from harness.explore.runtime import scheduler

T = TypeVar("T")


class ControlledQueue(tasks.Shared, Generic[T]):
    """An unbounded first-in, first-out queue that can be closed."""

    def __init__(self, runtime: "scheduler.ControlledRuntime", name: str) -> None:
        super().__init__(runtime.first_past())
        self._runtime, self._name = runtime, name
        self._items: collections.deque[tuple[T, tuple[int, int]]] = collections.deque()
        self._closed_at: tuple[int, int] | None = None
        self._sleeping: collections.deque[tasks.Task] = collections.deque()
        self._head = tasks.Shared(hash((self.identity, 1)))
        self._tail = tasks.Shared(hash((self.identity, 2)))

    @property
    def is_blocking(self) -> bool:
        return not self._items and self._closed_at is None

    def put(self, item: T) -> None:
        """Append an item; ignored once the queue is closed."""
        self._runtime.point()
        position = self._runtime.put(self._tail)
        if self._closed_at is None:
            self._items.append((item, position))
            self._wake(1)

    def get(self) -> T:
        """Remove and return the oldest item, waiting for one.

        Raises Closed once the queue is closed and empty.
        """
        task = self._runtime.current
        task.obstacle = self
        self._runtime.point()
        while self.is_blocking:
            self._sleeping.append(task)
            self._runtime.block(f"condition {self._name}")
        task.obstacle = None
        item, put_at = self._items.popleft() if self._items else (None, self._closed_at)
        if put_at is not None:
            self._runtime.take(self._head, put_at)
        if item is None:
            raise concurrency.Closed
        return item

    def close(self) -> None:
        """Close the queue; remaining items can still be taken."""
        self._runtime.point()
        self._closed_at = self._runtime.put(self._tail)
        self._wake(len(self._sleeping))

    def _wake(self, count: int) -> None:
        for _ in range(min(count, len(self._sleeping))):
            self._runtime.wake(self._sleeping.popleft())
