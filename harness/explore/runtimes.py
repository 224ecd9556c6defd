"""The controlled runtime: one operating system thread, in which tasks (greenlets) run one at a time, each until it may be replaced.

Choice points are: taking a lock that several tasks use, waiting, and whatever else calls `point` or `decide` (requests, answers).
A named step is none: it touches nothing that is shared, so replacing the task there is the same as at its next lock. Virtual time
stands still while any task can run, and then jumps to the next timer.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol

import greenlet

from harness import concurrency

MAIN = "main"
PRIVATE = (".objects", ".synced", ".stopped", "inventory")
"""Ends of the names of locks around what does not change any more once a world is at rest: taking them is no choice point."""


class Stop(BaseException):
    """Ends a task when its run is over; no mistake of a task, so nothing in it may catch it."""


class TooLong(Exception):  # noqa: N818 - an outcome of a run
    """A run took more choices than allowed: a livelock, or too large a scenario."""


class Strategy(Protocol):
    """Decides."""

    def choose(self, options: int, *, preempts: bool, tasks: Sequence[int] = ()) -> int:
        """A number below `options`; 0 is what happens when nobody interferes.

        `preempts`: 0 lets the running task go on, any other number takes its turn away. `tasks`: the numbers of the tasks
        to choose from, in the order of the options; empty when something else is to be decided.
        """


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """A controlled thread."""

    number: int
    name: str
    glet: Any = None
    """Its greenlet, once it has one."""
    ready: bool = True
    done: bool = False
    waits_for: str = ""
    """What it is blocked on, in words."""
    deadline_ns: int | None = None
    """When it stops waiting."""
    timed_out: bool = False
    error: BaseException | None = None

    def join(self, timeout: float | None = None) -> None:
        """Runs are ended all at once; nobody needs to wait for a task."""

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not self.done


Record = Callable[[str, str, concurrency.StepFields], None]


class ControlledRuntime:
    """Makes one run. Use it once, inside `concurrency.install`."""

    def __init__(
        self,
        strategy: Strategy,
        *,
        choices_max: int = 100_000,
        time_max_ns: int = 5_000_000_000,
        record: Record | None = None,
    ) -> None:
        """`record(task, step, fields)`: is told of every step."""
        self._strategy, self._choices_max, self._time_max_ns = strategy, choices_max, time_max_ns
        self._record = record
        self._tasks: list[Task] = []
        self._hub = greenlet.getcurrent()
        self._current: Task | None = None
        self._now_ns = 0
        self._exploring = False
        self._error: BaseException | None = None
        self.choices = 0
        """Decisions taken."""
        self.finished: Callable[[], bool] = lambda: False
        """Whether the run may end now; asked between turns."""

    # -------------------------------------------------------- concurrency.Runtime

    def lock(self, name: str) -> "ControlledLock":
        """A lock whose taking is a choice point."""
        return ControlledLock(self, name)

    def condition(self, name: str) -> "ControlledCondition":
        """A condition variable; waiters are woken in the order in which they came."""
        return ControlledCondition(self, name)

    def spawn(self, name: str, target: Callable[[], None]) -> Task:
        """A new task, which runs when it is chosen."""
        task = Task(len(self._tasks), name)
        task.glet = greenlet.greenlet(lambda: self._body(task, target), parent=self._hub)
        self._tasks.append(task)
        return task

    def current_thread_name(self) -> str:
        """The running task's."""
        return self._current.name if self._current else MAIN

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self._block("sleeping", timeout=seconds)

    def monotonic_ns(self) -> int:
        """Virtual time."""
        return self._now_ns

    def step(self, name: str, fields: concurrency.StepFields) -> None:
        """A named step is recorded."""
        if self._record is not None:
            self._record(self.current_thread_name(), name, fields)

    # --------------------------------------------------------------------- choosing

    def point(self) -> None:
        """Whoever runs may be replaced here."""
        if not self._exploring or self._current is None:
            return
        if self.finished():
            self._hub.switch()
        others = [task for task in self._tasks if task.ready and task is not self._current]
        if others:
            numbers = [self._current.number, *(task.number for task in others)]
            choice = self._decide(len(numbers), preempts=True, tasks=numbers)
            if choice:
                self._switch_to(others[choice - 1])

    @contextlib.contextmanager
    def atomically(self) -> Iterator[None]:
        """Nobody is replaced inside, as nobody can look into a server's commit."""
        exploring, self._exploring = self._exploring, False
        try:
            yield
        finally:
            self._exploring = exploring

    def decide(self, options: int) -> int:
        """A choice of another kind, of a fault for example; 0 is that nothing special happens."""
        return self._decide(options, preempts=False) if self._exploring else 0

    def _decide(self, options: int, *, preempts: bool, tasks: Sequence[int] = ()) -> int:
        self.choices += 1
        if self.choices > self._choices_max:
            self._fail(TooLong(f"more than {self._choices_max} choices"))
        return self._strategy.choose(options, preempts=preempts, tasks=tasks)

    def _fail(self, error: BaseException) -> None:
        """End the run with an error, from inside a task."""
        self._error = error
        self._hub.switch()

    # ----------------------------------------------------------------------- running

    def run(self, *, explore: bool) -> list[Task]:
        """Run until all tasks wait for good, the run is finished, or virtual time is over; the tasks that are blocked without a timer.

        TooLong when there were too many choices; whatever a task raises is raised.
        """
        self._exploring, self._error = explore, None
        try:
            while not self.finished():
                task = self._next()
                if task is None:
                    break
                self._resume(task)
                self._raise_failure(task)
        finally:
            self._exploring = False
        return [task for task in self._tasks if not task.done and task.deadline_ns is None]

    def kill_all(self) -> None:
        """End every task."""
        for task in self._tasks:
            if task.glet:  # begun, and not at its end
                self._current = task
                task.glet.throw(Stop)
        self._current = None

    def _raise_failure(self, task: Task) -> None:
        if self._error is not None:
            raise self._error
        for other in (task, *self._tasks):
            if other.error is not None:
                raise other.error

    def _next(self) -> Task | None:
        """Whose turn it is when nobody runs."""
        ready = [task for task in self._tasks if task.ready]
        if not ready:
            if not self._let_time_pass():
                return None
            ready = [task for task in self._tasks if task.ready]
        if len(ready) == 1 or not self._exploring:
            return ready[0]
        self.choices += 1
        if self.choices > self._choices_max:
            raise TooLong(f"more than {self._choices_max} choices")
        numbers = [task.number for task in ready]
        return ready[self._strategy.choose(len(ready), preempts=False, tasks=numbers)]

    def _let_time_pass(self) -> bool:
        timers = [task.deadline_ns for task in self._tasks if task.deadline_ns is not None]
        if not timers or min(timers) > self._time_max_ns:
            return False
        self._now_ns = max(self._now_ns, min(timers))
        for task in self._tasks:
            if task.deadline_ns is not None and task.deadline_ns <= self._now_ns:
                task.ready, task.timed_out, task.deadline_ns = True, True, None
        return True

    def _resume(self, task: Task) -> None:
        """Run a task until it blocks, ends, or hands back to here."""
        self._current = task
        task.glet.switch()
        self._current = None

    def _switch_to(self, task: Task) -> None:
        self._current = task
        task.glet.switch()

    def _body(self, task: Task, target: Callable[[], None]) -> None:
        try:
            target()
        except Stop:
            pass
        except BaseException as error:  # noqa: BLE001 - given on by run()
            task.error = error
        finally:
            task.done, task.ready, task.deadline_ns = True, False, None

    def _block(self, what: str, *, timeout: float | None = None) -> bool:
        """Take the running task out until `wake`; False when its time was up first."""
        task = self.current
        task.ready, task.waits_for, task.timed_out = False, what, False
        if timeout is not None:
            task.deadline_ns = self._now_ns + max(
                round(timeout * 1e9), 1
            )  # or time would stand still
        self._hub.switch()
        self._current = task
        return not task.timed_out

    def wake(self, task: Task) -> None:
        """Let a blocked task run again."""
        task.ready, task.deadline_ns, task.waits_for = True, None, ""

    @property
    def current(self) -> Task:
        """The running task; RuntimeError in the explorer itself, which may not wait."""
        if self._current is None:
            raise RuntimeError("expected a task to do this, not the explorer itself")
        return self._current


class ControlledLock:
    """A mutual exclusion lock."""

    def __init__(self, runtime: ControlledRuntime, name: str) -> None:
        self._runtime, self._name = runtime, name
        self._is_shared = not name.endswith(PRIVATE)
        self._held = False
        self._waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock, at a choice point."""
        del timeout
        if self._is_shared:
            self._runtime.point()
        while self._held:
            if not blocking:
                return False
            self._waiting.append(self._runtime.current)
            self._runtime._block(f"lock {self._name}")  # noqa: SLF001
        self._held = True
        return True

    def release(self) -> None:
        """Give it back; who waits may try."""
        self._held = False
        for task in self._waiting:
            self._runtime.wake(task)
        self._waiting.clear()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class ControlledCondition(ControlledLock):
    """A condition variable with its lock."""

    def __init__(self, runtime: ControlledRuntime, name: str) -> None:
        super().__init__(runtime, name)
        self._sleeping: list[Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Release, wait to be notified, take again; False on timeout."""
        task = self._runtime.current
        self._sleeping.append(task)
        self.release()
        notified = self._runtime._block(f"condition {self._name}", timeout=timeout)  # noqa: SLF001
        if not notified and task in self._sleeping:
            self._sleeping.remove(task)
        self.acquire()
        return notified

    def notify(self, n: int = 1) -> None:
        """Wake the first n waiters."""
        for task in self._sleeping[:n]:
            self._runtime.wake(task)
        del self._sleeping[:n]

    def notify_all(self) -> None:
        """Wake all waiters."""
        self.notify(len(self._sleeping))
