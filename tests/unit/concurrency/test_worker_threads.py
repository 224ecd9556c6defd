"""Threads that do one task after the other, until they are stopped."""

import threading
from collections.abc import Callable

from harness import concurrency

TIMEOUT_S = 30.0


class Tasks(concurrency.WorkerThread):
    """Tasks that are due at a time by the monotonic clock."""

    def __init__(self) -> None:
        super().__init__("tasks")
        self.tasks: list[tuple[float, Callable[[], None]]] = []

    def put(self, delay_s: float, task: Callable[[], None]) -> None:
        with self._changed:
            self.tasks.append((concurrency.monotonic_s() + delay_s, task))
            self._changed.notify()

    def _take(self) -> concurrency.Task | None:
        if self.tasks and self.tasks[0][0] <= concurrency.monotonic_s():
            return self.tasks.pop(0)[1]
        return None

    def _left_s(self) -> float | None:
        return self.tasks[0][0] - concurrency.monotonic_s() if self.tasks else None


def test_a_stopped_thread_finishes_its_task_and_drops_the_others() -> None:
    tasks, begun, may_end = Tasks(), threading.Event(), threading.Event()
    done: list[str] = []

    def long_task() -> None:
        begun.set()
        assert may_end.wait(TIMEOUT_S)
        done.append("first")

    tasks.put(0.0, long_task)
    tasks.put(0.0, lambda: done.append("second"))
    tasks.start()
    assert begun.wait(TIMEOUT_S)
    stopping = threading.Thread(target=tasks.stop)
    stopping.start()
    while not tasks._is_stopped:
        stopping.join(0.001)
    may_end.set()
    stopping.join(TIMEOUT_S)
    assert not stopping.is_alive()
    assert done == ["first"]
