"""The controlled runtime: one operating system thread, in which tasks (greenlets) run one at a time, each until it may be replaced.

Choice points are: taking a lock that several tasks use, waiting, timers, and whatever else calls `point` or `decide` (requests, answers).
A named step is none: it touches nothing that is shared, so replacing the task there is the same as at its next lock. Virtual time
stands still while any task can run, and then jumps to the next timer; a few timers a run may go off before that, for a real
thread can be slower than any timer.

Every task and every shared thing carries its past: a hash of all that happened before it. Two runs whose tasks have equal pasts are
in the same state, however the steps that do not concern each other were ordered (Mazurkiewicz traces; the search builds on it).
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import greenlet

from harness import concurrency
from harness.explore import locking

MAIN = "main"
EARLY_TIMERS_MAX = 2
"""So many timers of a run may go off although somebody could run; without a bound, retrying for ever would be a finding."""
ENOUGH = -1
"""What a strategy says instead of a choice when the run need not go on."""


class Stop(BaseException):
    """Ends a task when its run is over; no mistake of a task, so nothing in it may catch it."""


class TooLong(Exception):  # noqa: N818 - an outcome of a run
    """A run took more choices than allowed: a livelock, or too large a scenario."""


class Enough(Exception):  # noqa: N818 - an outcome of a run
    """The strategy does not want to know how the run goes on."""


class Strategy(Protocol):
    """Decides."""

    def choose(self, choice: "Choice") -> int:
        """A number below `choice.options`, 0 being what happens when nobody interferes; or ENOUGH."""


@dataclasses.dataclass(slots=True)
class Choice:
    """What is to be decided."""

    options: int
    """How many there are."""
    free: int
    """So many of the first ones take nobody's turn away; any other is a preemption, or a timer that goes off early."""
    tasks: "Sequence[Task]"
    """The tasks to choose from, in the order of the options; empty when something else is to be decided."""
    timers: int
    """So many of the last options are tasks whose timer would go off early."""
    runtime: "ControlledRuntime"
    """Whose choice it is."""


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """A controlled thread."""

    number: int
    name: str
    past: int
    """A hash of all that happened before."""
    about_to: Sequence[locking.Shared] = ()
    """What it was about to use when its turn was taken away."""
    unchanged: Sequence[int] = ()
    """Their pasts at that moment."""
    held: list[locking.ControlledLock] = dataclasses.field(default_factory=list)
    """The locks that it has."""
    glet: Any = None
    """Its greenlet, once it has one."""
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
        private_locks: tuple[str, ...] = (),
        record: Record | None = None,
    ) -> None:
        """`private_locks`: ends of the names of locks around what does not change any more once a world is at rest, so that
        taking them is no choice point. `record(task, step, fields)`: is told of every step.
        """
        self._strategy, self._choices_max, self._time_max_ns = strategy, choices_max, time_max_ns
        self._private_locks, self._record = private_locks, record
        self._tasks: list[Task] = []
        self._ready: dict[Task, None] = {}
        self._timers: dict[Task, None] = {}
        self._early_timers_left = EARLY_TIMERS_MAX
        self._shared = 0
        self._hub = greenlet.getcurrent()
        self._current: Task | None = None
        self._now_ns = 0
        self._exploring = False
        self._error: BaseException | None = None
        self.choices = 0
        """Decisions taken."""
        self._is_finished = False

    # -------------------------------------------------------- concurrency.Runtime

    def lock(self, name: str) -> locking.ControlledLock:
        """A lock whose taking is a choice point."""
        is_private = name.endswith(self._private_locks)
        return locking.ControlledLock(self, name, self.first_past(), is_private=is_private)

    def condition(self, name: str) -> locking.ControlledCondition:
        """A condition variable; waiters are woken in the order in which they came."""
        is_private = name.endswith(self._private_locks)
        return locking.ControlledCondition(self, name, self.first_past(), is_private=is_private)

    def spawn(self, name: str, target: Callable[[], None]) -> Task:
        """A new task, which runs when it is chosen."""
        number = len(self._tasks)
        past = hash((self._current.past if self._current else 0, number))
        task = Task(number, self._unused(name), past)
        task.glet = greenlet.greenlet(lambda: self._body(task, target), parent=self._hub)
        self._tasks.append(task)
        self._ready[task] = None
        return task

    def _unused(self, name: str) -> str:
        """The name; with a number when a task of that name is there, for example of another scheduler."""
        alike = sum(task.name.partition(" ")[0] == name for task in self._tasks)
        return f"{name} ({alike + 1})" if alike else name

    def current_thread_name(self) -> str:
        """The running task's."""
        return self._current.name if self._current else MAIN

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.block("sleeping", timeout=seconds)

    def monotonic_ns(self) -> int:
        """Virtual time."""
        return self._now_ns

    def step(self, name: str, fields: concurrency.StepFields) -> None:
        """A named step is recorded."""
        if self._record is not None:
            self._record(self.current_thread_name(), name, fields)

    # ------------------------------------------------------------------- happens-before

    def first_past(self) -> int:
        """The past of a new shared thing: that of its maker, and which one it is of those that nobody made."""
        if self._current is not None:
            self._current.past = hash((self._current.past, 3))
            return self._current.past
        self._shared += 1
        return self._shared

    def touch(self, shared: locking.Shared) -> None:
        """The running task changes, or may change, something shared."""
        task = self._current
        if task is not None:
            task.past = shared.past = hash((task.past, shared.past))

    def observe(self, shared: locking.Shared) -> None:
        """The running task reads something shared."""
        if self._current is not None:
            self._current.past = hash((self._current.past, shared.past))

    def state(self) -> int:
        """A hash of everything that what follows depends on."""
        tasks = tuple(
            (task.past, task in self._ready, task.deadline_ns or 0) for task in self._tasks
        )
        current = self._current.number if self._current else -1
        return hash((current, self._now_ns, self._early_timers_left, tasks))

    def is_redundant(self, task: Task) -> bool:
        """Whether letting this task go on shows nothing new: since its turn was taken away nobody used what it was about to use,
        or waits for a lock that it has, so that its turn could as well have been taken away later.
        """
        if not task.about_to or any(lock.is_awaited for lock in task.held):
            return False
        return all(
            shared.past == past for shared, past in zip(task.about_to, task.unchanged, strict=True)
        )

    # --------------------------------------------------------------------- choosing

    def point(self, *about_to: locking.Shared) -> None:
        """Whoever runs may be replaced here.

        `about_to`: all that it uses before its next point, as far as others use it or wait for it; nothing when that is not known.
        """
        current = self._current
        if not self._exploring or current is None:
            return
        if self._is_finished:
            self._hub.switch()
        current.past = hash((current.past, 1))
        timers = self._early_timers()
        if timers or len(self._ready) > 1:
            others = [task for task in self._ready if task is not current]
            options = [current, *others, *timers]
            task = options[self._choose(options, free=1, timers=len(timers))]
            if task is not current:
                current.about_to = about_to
                current.unchanged = [shared.past for shared in about_to]
                self._take_over(task)
                task.glet.switch()
                current.about_to = ()

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
        if not self._exploring:
            return 0
        choice = self._ask(Choice(options, options, (), 0, self))
        self.current.past = hash((self.current.past, choice))
        return choice

    def _choose(self, tasks: Sequence[Task], *, free: int, timers: int) -> int:
        return self._ask(Choice(len(tasks), free, tasks, timers, self))

    def _ask(self, choice: Choice) -> int:
        self.choices += 1
        if self.choices > self._choices_max:
            self._fail(TooLong(f"more than {self._choices_max} choices"))
        chosen = self._strategy.choose(choice)
        if chosen == ENOUGH:
            self._fail(Enough())
        return chosen

    def _fail(self, error: BaseException) -> None:
        """End the run with an error, from inside a task or between turns."""
        if self._current is None:
            raise error
        self._error = error
        self._hub.switch()

    # ----------------------------------------------------------------------- running

    def run(self, *, explore: bool) -> list[Task]:
        """Run until all tasks wait for good, the run is finished, or virtual time is over; the tasks that are blocked without a timer.

        TooLong when there were too many choices, Enough when the strategy says so; whatever a task raises is raised.
        """
        self._exploring, self._error = explore, None
        try:
            while not self._is_finished:
                task = self._next()
                if task is None:
                    break
                self._resume(task)
                self._raise_failure(task)
        finally:
            self._exploring = False
        return [task for task in self._tasks if not task.done and task.deadline_ns is None]

    def finish(self) -> None:
        """The run need not go on: it ends at the next point."""
        self._is_finished = True

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
        if not self._ready and not self._let_time_pass():
            return None
        timers = self._early_timers() if self._exploring else []
        options = [*self._ready, *timers]
        if len(options) == 1 or not self._exploring:
            return options[0]
        chosen = options[self._choose(options, free=len(self._ready), timers=len(timers))]
        self._take_over(chosen)
        return chosen

    # ----------------------------------------------------------------------- time

    def _let_time_pass(self) -> bool:
        timers = [task.deadline_ns for task in self._timers if task.deadline_ns is not None]
        if not timers or min(timers) > self._time_max_ns:
            return False
        self._let_time_be(min(timers))
        return True

    def _let_time_be(self, now_ns: int) -> None:
        """All timers up to then go off together."""
        self._now_ns = max(self._now_ns, now_ns)
        for task in list(self._timers):
            if task.deadline_ns is not None and task.deadline_ns <= self._now_ns:
                self.wake(task)
                task.timed_out = True
                task.past = hash((task.past, 2))

    def _early_timers(self) -> list[Task]:
        """The tasks whose timer is the next one."""
        if not self._timers or not self._early_timers_left:
            return []
        deadlines = {task: task.deadline_ns or 0 for task in self._timers}
        first = min(deadlines.values())
        return [task for task in self._timers if deadlines[task] == first <= self._time_max_ns]

    # ----------------------------------------------------------------------- turns

    def _resume(self, task: Task) -> None:
        """Run a task until it blocks, ends, or hands back to here."""
        self._current = task
        task.glet.switch()
        self._current = None

    def _take_over(self, task: Task) -> None:
        """The task is to run now; if it was waiting, its timer goes off."""
        if task not in self._ready:
            self._early_timers_left -= 1
            self._let_time_be(task.deadline_ns or 0)
        self._current = task

    def _body(self, task: Task, target: Callable[[], None]) -> None:
        try:
            target()
        except Stop:
            pass
        except BaseException as error:  # noqa: BLE001 - given on by run()
            task.error = error
        finally:
            task.done = True
            self._ready.pop(task, None)
            self._timers.pop(task, None)

    def block(self, what: str, *, timeout: float | None = None) -> bool:
        """Take the running task out until `wake`; False when its time was up first."""
        task = self.current
        del self._ready[task]
        task.waits_for, task.timed_out = what, False
        if timeout is not None:
            # At least a nanosecond, or time would stand still.
            task.deadline_ns = self._now_ns + max(round(timeout * 1e9), 1)
            self._timers[task] = None
        self._hub.switch()
        self._current = task
        return not task.timed_out

    def wake(self, task: Task) -> None:
        """Let a blocked task run again."""
        self._ready[task] = None
        self._timers.pop(task, None)
        task.deadline_ns, task.waits_for = None, ""

    @property
    def running(self) -> Task | None:
        """The running task; None in the explorer itself."""
        return self._current

    @property
    def current(self) -> Task:
        """The running task; RuntimeError in the explorer itself, which may not wait."""
        if self._current is None:
            raise RuntimeError("expected a task to do this, not the explorer itself")
        return self._current
