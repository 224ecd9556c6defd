"""A thread that does one task after the other, until it is stopped.

A subclass decides what is to be done next; the methods by which other threads give it tasks are
its own. Threads with a fixed order of tasks take them from a `concurrency.Queue` instead.
"""

from collections.abc import Callable
from typing import TypeAlias

from harness import concurrency

Task: TypeAlias = Callable[[], None]


class WorkerThread:
    """Base of the classes that do their tasks on a thread of their own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = concurrency.condition(name)
        """Guards the tasks; to be notified when there are others."""
        self._is_stopped = False
        self._thread: concurrency.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = concurrency.spawn(self._name, self._work)

    def stop(self) -> None:
        """Drop the tasks that wait, and end the thread."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task()

    def _next(self) -> Task | None:
        """Wait for the next task that is due; None: this is the end."""
        with self._changed:
            while not self._is_stopped:
                if (task := self._take()) is not None:
                    return task
                self._changed.wait(self._left_s())
        return None

    def _take(self) -> Task | None:
        """Remove and return a task that is due; None: there is none. Called under the lock."""
        raise NotImplementedError

    def _left_s(self) -> float | None:
        """Return the seconds until a task is due; None: there is none. Called under the lock."""
        raise NotImplementedError
