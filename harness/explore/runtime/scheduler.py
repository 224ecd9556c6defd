"""The controlled runtime: tasks (greenlets) run one at a time in one operating system thread.

A task runs until a choice point, where it may be replaced. Choice points are: taking a lock that
several tasks use, waiting, timers, and every other call of `point` or `decide` (requests,
responses). A named step is not one: it touches nothing shared, so replacing the task there is the
same as at its next lock.

Every task and every shared object has a past: a hash of all that happened before it. Two runs whose
tasks have equal pasts are in the same state, however independent steps were ordered (Mazurkiewicz
traces.
"""

import collections
import contextlib
from collections.abc import Callable, Iterator, Sequence

import greenlet

from harness import concurrency
from harness.explore.runtime import choices, locks, observing, tasks

MAIN = "main"
Record = Callable[[str, str, concurrency.StepFields], None]


class ControlledRuntime(concurrency.Runtime):
    """Executes one run. Use each instance once, inside `concurrency.install`."""

    def __init__(
        self,
        strategy: choices.Strategy,
        *,
        choices_max: int = 100_000,
        time_max_ns: int = 10_000_000_000,
        private_locks: tuple[str, ...] = (),
        record: Record | None = None,
        observer: observing.Observer | None = None,
    ) -> None:
        """Create a runtime.

        `choices_max`: raise TooLong beyond; `time_max_ns`: timers later than this never expire;
        `private_locks`: suffixes of the names of locks that guard data which no longer changes once
        a world is at rest, so that taking them is not a choice point; `record(task, step, fields)`:
        called for every step; `observer`: receives what every turn of the explored part uses.
        """
        self._strategy, self._choices_max = strategy, choices_max
        self._observer = observer or observing.Observer()
        self._private_locks, self._record = private_locks, record
        self.decisions: list[int] = []
        """The choices made so far, in order."""
        self._tasks: list[tasks.Task] = []
        self._names: collections.Counter[str] = collections.Counter()
        self._parents: dict[tasks.Task, tasks.Task | None] = {}
        """The task that has spawned each task; None: the explorer itself."""
        self._joining: dict[tasks.Task, tasks.Task] = {}
        """Which task waits for the end of each task."""
        self._ready: dict[tasks.Task, None] = {}
        self._timers = tasks.Timers(time_max_ns=time_max_ns)
        self._shared = 0
        self._hub = greenlet.getcurrent()
        self.running: tasks.Task | None = None
        """The running task; None in the explorer itself."""
        self._exploring = False
        self._error: BaseException | None = None
        self._is_finished = False

    # -------------------------------------------------------- concurrency.Runtime

    def lock(self, name: str) -> locks.ControlledLock:
        is_private = name.endswith(self._private_locks)
        return locks.ControlledLock(self, name, self.first_past(), is_private=is_private)

    def condition(self, name: str) -> locks.ControlledCondition:
        """Return a condition variable; waiters are woken first come, first served."""
        is_private = name.endswith(self._private_locks)
        return locks.ControlledCondition(self, name, self.first_past(), is_private=is_private)

    def baton(self, guard: concurrency.Condition, name: str) -> concurrency.Baton:
        if isinstance(guard, locks.ControlledLock):
            return locks.ControlledBaton(self, guard, name, self.first_past())
        return concurrency.Baton(guard)

    def reading(self, guard: concurrency.Lock) -> concurrency.Lock:
        """Return the lock for a `with` block whose order among others like it does not matter."""
        if isinstance(guard, locks.ControlledLock):
            return locks.UsedLock(guard, concurrency.Use.READ)
        return guard

    def in_parts(self, guard: concurrency.Lock) -> concurrency.Lock:
        """Return the lock for a `with` block that names every part that it uses."""
        if isinstance(guard, locks.ControlledLock):
            return locks.UsedLock(guard, concurrency.Use.IN_PARTS)
        return guard

    def uses(self, guard: concurrency.Lock, how: concurrency.Use, part: concurrency.Part) -> None:
        if isinstance(guard, locks.ControlledLock):
            guard.use_part(part, how)

    def glance(self, guard: concurrency.Lock) -> None:
        """Record that the running task reads what a lock guards without taking the lock."""
        if isinstance(guard, tasks.Shared):
            self.observe(guard)

    def spawn(self, name: str, target: Callable[[], None]) -> tasks.Task:
        """Return a new task, which starts when it is chosen."""
        number = len(self._tasks)
        past = hash((self.running.past if self.running else 0, number))
        task = tasks.Task(number, self._unused(name), past, wait_for_end=self._join)
        self._parents[task] = self.running
        task.glet = greenlet.greenlet(lambda: self._body(task, target), parent=self._hub)
        self._tasks.append(task)
        self._ready[task] = None
        self._observer.uses(observing.TASKS, concurrency.Use.WRITE)
        self._observer.enables(task)
        return task

    def _join(self, task: tasks.Task, timeout: float | None) -> None:
        """Let the running task wait for the end of one that it has spawned."""
        if self.running is None or self._parents[task] is not self.running:
            return
        if task.done:
            self._observer.follows(task.ended_at)
            return
        self._joining[task] = self.running
        self.block(f"end of {task.name}", timeout=timeout)
        self._joining.pop(task, None)
        self.current.past = hash((self.current.past, task.past))

    def _unused(self, name: str) -> str:
        """Return the name, with a number if another task (such as a second scheduler's) has it."""
        self._names[name] += 1
        alike = self._names[name]
        return f"{name} ({alike})" if alike > 1 else name

    def current_thread_name(self) -> str:
        return self.running.name if self.running else MAIN

    def sleep(self, seconds: float) -> None:
        self.block("sleeping", timeout=seconds)

    def monotonic_ns(self) -> int:
        """Return virtual time, in nanoseconds."""
        if self.running is not None:
            self.running.past = hash((self.running.past, self._timers.now_ns))
        self._observer.uses(observing.NOW, concurrency.Use.READ)
        return self._timers.now_ns

    def wall_ns(self) -> int:
        return self.monotonic_ns()

    def step(self, name: str, fields: concurrency.StepFields) -> None:
        if self._record is not None:
            self._record(self.current_thread_name(), name, fields)

    # ------------------------------------------------------------------- happens-before

    def first_past(self) -> int:
        """Return the past of a new shared object.

        It derives from the past of the task that creates it, or else from the number of objects
        created before any task ran.
        """
        if self.running is not None:
            self.running.past = hash((self.running.past, 3))
            return self.running.past
        self._shared += 1
        return self._shared

    def touch(self, shared: tasks.Shared, more: int = 0) -> None:
        """Record that the running task changes, or may change, a shared object.

        `more`: a hash of what else it may depend on, such as the pasts of the object's parts.
        """
        task = self.running
        if task is not None:
            task.past = shared.past = hash((task.past, shared.past, shared.added, more))
            shared.added = 0
            self._observer.uses(shared.identity, concurrency.Use.WRITE)

    def add_to(self, shared: tasks.Shared) -> None:
        """Record that the running task changes an object in a way whose order does not matter."""
        task = self.running
        if task is not None:
            task.past = hash((task.past, shared.past, 4))
            shared.added ^= task.past
            self._observer.uses(shared.identity, concurrency.Use.ADD)

    def observe_in_parts(self, shared: tasks.Shared) -> None:
        """Record that the running task uses parts of an object, which say more."""
        task = self.running
        if task is not None:
            task.past = hash((task.past, shared.past))
            self._observer.uses(shared.identity, concurrency.Use.IN_PARTS)

    def put(self, tail: tasks.Shared) -> tuple[int, int]:
        """Record that the running task appends to a queue; return the position, for `take`.

        A position is the number of this turn, and a hash of what happened before.
        """
        self.touch(tail)
        return self._observer.position(), tail.past

    def take(self, head: tasks.Shared, put_at: tuple[int, int]) -> None:
        turn, past = put_at
        self.touch(head, past)
        self._observer.follows(turn)

    def observe(self, shared: tasks.Shared, more: int = 0) -> None:
        """Record that the running task reads a shared object; `more` as in `touch`."""
        if self.running is not None:
            self.running.past = hash((self.running.past, shared.past, shared.added, more))
            self._observer.uses(shared.identity, concurrency.Use.READ)

    def released(self, shared: tasks.Shared) -> None:
        if self.running is not None:
            self._observer.releases(shared.identity)

    def state(self) -> int:
        """Return a hash of everything on which the rest of the run depends."""
        each = tuple(
            (task.past, task in self._ready, task.deadline_ns or 0) for task in self._tasks
        )
        running = self.running.number if self.running else -1
        return hash((running, self._timers.now_ns, self._timers.early_left, each))

    # --------------------------------------------------------------------- choosing

    def point(self) -> None:
        """Allow another task to run here."""
        current = self.running
        if not self._exploring or current is None:
            return
        if self._is_finished:
            self._hub.switch()
        self._hold_whole(current)
        current.past = hash((current.past, 1))
        early = self._timers.early()
        if not (early or len(self._ready) > 1):
            self._begin_turn([current], 0, 0)
        else:
            others = [task for task in self._ready if task is not current]
            options = [current, *others, *early]
            chosen = self._choose(len(options), 1, options, len(early))
            self._begin_turn(options, len(early), chosen)
            task = options[chosen]
            if task is not current:
                self._take_over(task)
                task.glet.switch()

    def _hold_whole(self, task: tasks.Task) -> None:
        for lock in task.held:
            lock.hold_whole()

    @contextlib.contextmanager
    def atomically(self) -> Iterator[None]:
        """Disable choices inside the `with` block, like a server's commit, which is atomic."""
        exploring, self._exploring = self._exploring, False
        try:
            yield
        finally:
            self._exploring = exploring

    def decide(self, options: int) -> int:
        """Make a choice of another kind, for example of a fault; 0: nothing special happens."""
        if not self._exploring:
            return 0
        chosen = self._choose(options, options)
        self.current.past = hash((self.current.past, chosen))
        return chosen

    def _choose(
        self, options: int, free: int, among: Sequence[tasks.Task] = (), early: int = 0
    ) -> int:
        choice = choices.Choice(options, free, among, early)
        if len(self.decisions) >= self._choices_max:
            self._fail(choices.TooLong(f"more than {self._choices_max} choices"))
        chosen = self._strategy.choose(choice)
        if chosen == choices.GIVE_UP:
            self._fail(choices.GivenUp())
        self.decisions.append(chosen)
        return chosen

    def _begin_turn(self, options: Sequence[tasks.Task], early: int, chosen: int) -> None:
        if not self._observer.turn(options, early, chosen):
            self._fail(choices.GivenUp())

    def _fail(self, error: BaseException) -> None:
        """End the run with an error, raised in a task or between turns."""
        if self.running is None:
            raise error
        self._error = error
        self._hub.switch()

    # ----------------------------------------------------------------------- running

    def run(self, *, explore: bool, until_idle: bool = False) -> list[tasks.Task]:
        """Run until all tasks wait forever, `finish` is called, or virtual time is over.

        `until_idle`: only until no task can run at the present time. Returns the tasks that are
        blocked without a timer. Raises TooLong after too many choices, GivenUp if the strategy
        abandons the run, and any exception of a task.
        """
        self._exploring, self._error = explore, None
        self._observer.rests(self._tasks, ())
        try:
            while not self._is_finished and (self._ready or not until_idle):
                task = self._next()
                if task is None:
                    break
                self._resume(task)
            self._observer.rests(self._tasks, ())
        finally:
            self._exploring = False
        return [task for task in self._tasks if not task.done and task.deadline_ns is None]

    def finish(self) -> None:
        """End the run at the next choice point."""
        self._is_finished = True

    def kill_all(self) -> None:
        """End every task, without choices or an observer."""
        self._observer = observing.Observer()
        for task in self._tasks:
            if task.glet:  # started and not finished
                self.running = task
                task.glet.throw(tasks.Stop)
        self.running = None

    def _next(self) -> tasks.Task | None:
        """Return the task to run when no task is running; None if all wait forever."""
        if not self._ready:
            self._observer.rests(self._tasks, self._timers.early())
            self._let_time_pass()
        if not self._ready:
            return None
        early = self._timers.early() if self._exploring else []
        options = [*self._ready, *early]
        if not self._exploring:
            return options[0]
        chosen = 0
        if len(options) > 1:
            chosen = self._choose(len(options), len(self._ready), options, len(early))
        self._begin_turn(options, len(early), chosen)
        self._take_over(options[chosen])
        return options[chosen]

    # ----------------------------------------------------------------------- turns

    def _resume(self, task: tasks.Task) -> None:
        """Run a task, and tasks that preempt it, until control returns to the explorer."""
        self.running = task
        task.glet.switch()
        self.running = None
        if self._error is not None:
            raise self._error

    def _take_over(self, task: tasks.Task) -> None:
        """Make the task the running one; if it was waiting, its timer expires."""
        if task not in self._ready:
            self._observer.uses(observing.NOW, concurrency.Use.WRITE)
            self._observer.uses(observing.TIMERS, concurrency.Use.WRITE)
            self._timers.early_left -= 1
            self._let_time_be(task.deadline_ns or 0)
        self.running = task

    def _body(self, task: tasks.Task, target: Callable[[], None]) -> None:
        try:
            target()
        except tasks.Stop:
            pass
        except BaseException as error:  # noqa: BLE001 - re-raised by run()
            self._error = error
        finally:
            task.done, task.ended_at = True, self._observer.position()
            self._ready.pop(task, None)
            self._timers.cancel(task)
            if (joining := self._joining.pop(task, None)) is not None and not joining.done:
                self.wake(joining)

    def block(self, what: str, *, timeout: float | None = None) -> bool:
        """Suspend the running task until `wake`; return False on timeout."""
        task = self.current
        self._hold_whole(task)
        del self._ready[task]
        task.waits_for, task.timed_out = what, False
        if timeout is not None:
            self._observer.uses(observing.TIMERS, concurrency.Use.WRITE)
            self._timers.set(task, timeout)
        self._hub.switch()
        self.running = task
        return not task.timed_out

    def wake(self, task: tasks.Task) -> None:
        """Make a blocked task runnable, which could not have gone on without this."""
        if task not in self._ready:  # a timer may have woken it already
            self._observer.enables(task)
        self.wake_to_compete(task)

    def wake_to_compete(self, task: tasks.Task) -> None:
        """Make a task runnable that waits for a lock, which it could have had earlier."""
        self._ready[task] = None
        if task.deadline_ns is not None:
            self._observer.uses(observing.TIMERS, concurrency.Use.WRITE)
        self._timers.cancel(task)
        task.waits_for = ""

    def _let_time_pass(self) -> None:
        first = self._timers.next_ns()
        if first is not None:
            self._let_time_be(first)

    def _let_time_be(self, now_ns: int) -> None:
        for task in self._timers.pass_to(now_ns):
            self._observer.enables(task)
            self._ready[task] = None
            self._timers.cancel(task)
            task.waits_for, task.timed_out = "", True
            task.past = hash((task.past, 2))

    @property
    def current(self) -> tasks.Task:
        """The running task; raises RuntimeError in the explorer itself, which must not wait."""
        if self.running is None:
            raise RuntimeError("expected a task to do this, not the explorer itself")
        return self.running
