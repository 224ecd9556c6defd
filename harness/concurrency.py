"""Threads, locks, queues, time and named steps for code whose interleavings matter.

The subject (scheduler, claim controller) takes all of these from here and nothing from `threading`
or `time`. Normally they are the real ones. A controlled runtime (see `install`) makes every
operation a point where the next thread is chosen, so that the same code can be explored one
interleaving at a time. Only what a runtime must control belongs here: no pools, no futures, nothing
that could be built from these.

Named steps mark the interesting moments: `step("in-flight.removed", claim=uid)`. A step costs one
attribute load and one test if no listener is installed; a listener can record it or pause by a
seeded plan (`pausing`). Names are `<part>.<moment>`, fields are strings or integers, except
for those of final books (see `subject.final_books`).
"""

import collections
import contextlib
import enum
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
StepFields = Mapping[str, Any]
StepListener = Callable[[str, StepFields], None]
Part = tuple[str, ...]
"""Name of a part of what a lock guards, such as the entry of a key."""


class Use(enum.IntEnum):
    """How something shared is used. Two uses commute if they are alike and not WRITE."""

    READ = 0
    WRITE = 1
    ADD = 2
    """Changes whose order does not matter, such as adding to a set."""
    IN_PARTS = 3
    """The use of a lock, of which the uses of its parts say more."""


Lock: TypeAlias = contextlib.AbstractContextManager[bool | None]
"""A mutual exclusion lock, used with `with`."""


class Condition(contextlib.AbstractContextManager[bool | None], Protocol):
    """A condition variable with its own lock; `wait` returns False on timeout."""

    def wait(self, timeout: float | None = None) -> bool: ...
    def notify(self, n: int = 1) -> None: ...
    def notify_all(self) -> None: ...


class Baton:
    """A role that one thread at a time has: taken and put down under a condition variable's lock.

    To an explorer, a thread that awaits it cannot go on, as with a lock. Here it is a flag and
    waiting in a loop, which would be many more interleavings.
    """

    def __init__(self, changed: Condition) -> None:
        self._changed, self._is_taken = changed, False

    @property
    def is_taken(self) -> bool:
        return self._is_taken

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        """Wait until no thread has it; the `with` block holds the lock, as one of `in_parts`."""
        with self._changed:
            while self._is_taken:
                self._changed.wait()
            yield

    def take(self) -> None:
        """Take it, under the lock. Raises RuntimeError if a thread has it."""
        if self._is_taken:
            raise RuntimeError("expected a baton that no thread has")
        self._is_taken = True

    def put_down(self) -> None:
        """Put it down, under the lock, and wake those who await it."""
        self._is_taken = False
        self._changed.notify_all()


class Thread(Protocol):
    """A started thread."""

    @property
    def name(self) -> str: ...
    def join(self, timeout: float | None = None) -> None: ...
    def is_alive(self) -> bool: ...


class Runtime:
    """The operating system's threads and clocks; a controlled runtime replaces every operation.

    Only controlled ones use the names, and what is said of uses.
    """

    def lock(self, name: str) -> Lock:
        del name
        return threading.Lock()

    def condition(self, name: str) -> Condition:
        del name
        return threading.Condition(threading.Lock())

    def baton(self, guard: Condition, name: str) -> Baton:
        del name
        return Baton(guard)

    def reading(self, guard: Lock) -> Lock:
        return guard

    def in_parts(self, guard: Lock) -> Lock:
        return guard

    def uses(self, guard: Lock, how: Use, part: Part) -> None:
        """Handle that the calling thread uses a part of what a lock guards."""

    def glance(self, guard: Lock) -> None:
        """Handle that the calling thread reads what a lock guards without taking the lock.

        The interpreter makes one read atomic.
        """

    def spawn(self, name: str, target: Callable[[], None]) -> Thread:
        # a daemon: a stuck thread must not keep the process from ending
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread

    def current_thread_name(self) -> str:
        return threading.current_thread().name

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        return time.time_ns()

    def step(self, name: str, fields: StepFields) -> None:
        """Handle a named step while this runtime is installed."""


_runtime = Runtime()
_listener: StepListener | None = None


@contextlib.contextmanager
def install(runtime: Runtime) -> Iterator[None]:
    """Use a controlled runtime for everything created and called inside the `with` block."""
    global _runtime, _listener
    previous = _runtime, _listener
    _runtime, _listener = runtime, runtime.step
    try:
        yield
    finally:
        _runtime, _listener = previous


def lock(name: str) -> Lock:
    """Return a new lock; its name appears in explanations."""
    return _runtime.lock(name)


def condition(name: str) -> Condition:
    return _runtime.condition(name)


def baton(guard: Condition, name: str) -> Baton:
    """Return a new baton that is taken under the lock of the condition variable."""
    return _runtime.baton(guard, name)


def reading(guard: Lock) -> Lock:
    """Return the lock for a `with` block that only reads what it guards.

    Two such blocks may come in either order, which spares an explorer half of the orders. The block
    must not change anything, wait, notify, or take another lock.
    """
    return _runtime.reading(guard)


def in_parts(guard: Lock) -> Lock:
    """Return the lock for a `with` block that names every part that it uses, by the three below.

    Two such blocks may come in either order unless they use one part, which spares an explorer most
    orders. Parts used must be named again after each wait. A block in which another lock is taken
    counts as one that uses everything.
    """
    return _runtime.in_parts(guard)


def reads(guard: Lock, *part: str) -> None:
    """Declare that a part of what the lock guards is read, with or without the lock."""
    _runtime.uses(guard, Use.READ, part)


def writes(guard: Lock, *part: str) -> None:
    """Declare that a part of what the lock guards is read or changed."""
    _runtime.uses(guard, Use.WRITE, part)


def adds(guard: Lock, *part: str) -> None:
    """Declare changes of a part whose order among others like them does not matter.

    It matters to those that read or write the part.
    """
    _runtime.uses(guard, Use.ADD, part)


def spawn(name: str, target: Callable[[], None]) -> Thread:
    return _runtime.spawn(name, target)


def current_thread_name() -> str:
    return _runtime.current_thread_name()


def sleep(seconds: float) -> None:
    _runtime.sleep(seconds)


def monotonic_ns() -> int:
    return _runtime.monotonic_ns()


def monotonic_s() -> float:
    return _runtime.monotonic_ns() / 1e9


def wall_s() -> float:
    """Return the wall clock in seconds since the epoch, to compare with times in API objects."""
    return _runtime.wall_ns() / 1e9


def step(name: str, **fields: Any) -> None:
    """Mark a named moment; almost free if there is no listener."""
    if _listener is not None:
        _listener(name, fields)


def listen(listener: StepListener | None) -> None:
    """Send every step to this listener; None: to no listener.

    A process has one listener; combine several with `fan_out`.
    """
    global _listener  # noqa: PLW0603
    _listener = listener


@contextlib.contextmanager
def listening(listener: StepListener) -> Iterator[None]:
    global _listener  # noqa: PLW0603
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def fan_out(*listeners: StepListener) -> StepListener:
    def call_all(name: str, fields: StepFields) -> None:
        for listener in listeners:
            listener(name, fields)

    return call_all


def pausing(*, stream: random.Random, probability: float, pause_s_max: float) -> StepListener:
    """Return a listener that pauses at steps with this probability.

    A pause lasts up to `pause_s_max` seconds. The pauses widen all race windows alike and are not
    aimed at a known defect. Numbers come from the seeded stream, under its own lock, so a seed
    gives the same sequence of pauses (which thread gets which pause is still up to the operating
    system).
    """
    guard = threading.Lock()

    def pause(name: str, fields: StepFields) -> None:
        del name, fields
        with guard:
            chosen, length = stream.random() < probability, stream.random() * pause_s_max
        if chosen:
            sleep(length)

    return pause


class Closed(Exception):  # noqa: N818 - a state, not an error
    """The queue is closed and empty."""


class Event:
    """A flag that threads can wait for."""

    def __init__(self, name: str) -> None:
        self._changed = condition(name)
        self._set = False

    def is_set(self) -> bool:
        _runtime.glance(self._changed)
        return self._set

    def set(self) -> None:
        with self._changed:
            self._set = True
            self._changed.notify_all()

    def wait(self, timeout_s: float | None = None) -> bool:
        deadline = None if timeout_s is None else monotonic_s() + timeout_s
        with self._changed:
            while not self._set:
                left = None if deadline is None else deadline - monotonic_s()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True


class Queue(Generic[T]):
    """An unbounded first-in, first-out queue that can be closed."""

    def __init__(self, name: str) -> None:
        self._changed = condition(name)
        self._items: collections.deque[T] = collections.deque()
        self._closed = False

    def put(self, item: T) -> None:
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._changed.notify()

    def get(self) -> T:
        """Remove and return the oldest item, waiting for one.

        Raises Closed once the queue is closed and empty.
        """
        with self._changed:
            while not self._items:
                if self._closed:
                    raise Closed
                self._changed.wait()
            return self._items.popleft()

    def close(self) -> None:
        """Close the queue; remaining items can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        _runtime.glance(self._changed)
        return len(self._items)


Task: TypeAlias = Callable[[], None]


class WorkerThread:
    """A thread that does one task after the other, until it is stopped.

    A subclass decides what is to be done next; the methods by which other threads give it tasks are
    its own. Threads with a fixed order of tasks take them from a `Queue` instead.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = condition(name)
        """Guards the tasks; to be notified when there are others."""
        self._is_stopped = False
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = spawn(self._name, self._work)

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
