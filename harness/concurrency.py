"""Threads, locks, queues, time and named steps for code whose interleavings matter.

The subject (scheduler, claim controller) takes all of these from here and nothing from `threading` or `time`. Normally they
are the real ones. A controlled runtime (see `install`) makes every operation a point where the next thread is chosen, so the
same code can be explored one interleaving at a time. Only what a runtime must control belongs here: no pools, no futures,
nothing that could be built from these.

Named steps mark the interesting moments: `step("in-flight.removed", claim=uid)`. A step is free when nobody listens (one
attribute load and one test), is recorded when a listener asks for it, and can pause by a seeded plan (`pausing`).

Steps: names are `<part>.<moment>` in the past or present tense, fields are strings or integers.
"""

import collections
import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
StepFields = Mapping[str, Any]
StepListener = Callable[[str, StepFields], None]


class Lock(Protocol):
    """A mutual exclusion lock, used with `with`."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock; False when it could not be had in time."""

    def release(self) -> None:
        """Give the lock back."""

    def __enter__(self) -> bool:
        """Take the lock."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the lock back."""


class Condition(Lock, Protocol):
    """A condition variable with its lock."""

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait for a notification, take the lock again; False on timeout."""

    def notify(self, n: int = 1) -> None:
        """Wake up to n waiting threads."""

    def notify_all(self) -> None:
        """Wake all waiting threads."""


class Thread(Protocol):
    """A started thread."""

    @property
    def name(self) -> str:
        """The name it was spawned with."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""

    def is_alive(self) -> bool:
        """Whether it has not ended yet."""


class Runtime(Protocol):
    """What a controlled runtime replaces."""

    def lock(self, name: str) -> Lock:
        """A new lock."""

    def condition(self, name: str) -> Condition:
        """A new condition variable with a lock of its own."""

    def spawn(self, name: str, target: Callable[[], None]) -> Thread:
        """Start a thread."""

    def current_thread_name(self) -> str:
        """The name of the calling thread."""

    def sleep(self, seconds: float) -> None:
        """Let (real or virtual) time pass."""

    def monotonic_ns(self) -> int:
        """The (real or virtual) monotonic clock, in nanoseconds."""

    def step(self, name: str, fields: StepFields) -> None:
        """Called for each named step when a controlled runtime is installed."""


class RealRuntime:
    """Threads of the operating system and the monotonic clock."""

    def lock(self, name: str) -> Lock:
        """A threading.Lock; the name is for controlled runtimes."""
        del name
        return threading.Lock()

    def condition(self, name: str) -> Condition:
        """A threading.Condition; the name is for controlled runtimes."""
        del name
        return threading.Condition(threading.Lock())

    def spawn(self, name: str, target: Callable[[], None]) -> Thread:
        """A started daemon thread: a stuck thread must not keep a process from ending."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread

    def current_thread_name(self) -> str:
        """The name of the calling thread."""
        return threading.current_thread().name

    def sleep(self, seconds: float) -> None:
        """Sleep in real time."""
        time.sleep(seconds)

    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def step(self, name: str, fields: StepFields) -> None:
        """Nothing: real threads are not chosen."""


_REAL = RealRuntime()
_runtime: Runtime = _REAL
_listener: StepListener | None = None


@contextlib.contextmanager
def install(runtime: Runtime) -> Iterator[None]:
    """Use a controlled runtime for everything made and called inside the block."""
    global _runtime, _listener
    previous = _runtime, _listener
    _runtime, _listener = runtime, runtime.step
    try:
        yield
    finally:
        _runtime, _listener = previous


def lock(name: str) -> Lock:
    """A new lock; the name appears in explanations."""
    return _runtime.lock(name)


def condition(name: str) -> Condition:
    """A new condition variable with a lock of its own."""
    return _runtime.condition(name)


def spawn(name: str, target: Callable[[], None]) -> Thread:
    """Start a thread that runs target()."""
    return _runtime.spawn(name, target)


def current_thread_name() -> str:
    """The name of the calling thread."""
    return _runtime.current_thread_name()


def sleep(seconds: float) -> None:
    """Let time pass."""
    _runtime.sleep(seconds)


def monotonic_ns() -> int:
    """The monotonic clock in nanoseconds."""
    return _runtime.monotonic_ns()


def monotonic_s() -> float:
    """The monotonic clock in seconds."""
    return _runtime.monotonic_ns() / 1e9


def step(name: str, **fields: Any) -> None:
    """Mark a named moment; free when nobody listens."""
    if _listener is not None:
        _listener(name, fields)


def listen(listener: StepListener | None) -> None:
    """Send every step to this listener (None: to nobody). One listener a process; see `fan_out`."""
    global _listener  # noqa: PLW0603
    _listener = listener


def fan_out(*listeners: StepListener) -> StepListener:
    """One listener that calls several in turn."""

    def call_all(name: str, fields: StepFields) -> None:
        for listener in listeners:
            listener(name, fields)

    return call_all


def pausing(*, stream: random.Random, probability: float, pause_s_max: float) -> StepListener:
    """A listener that pauses at a step with this probability, for up to pause_s_max seconds.

    The pauses widen every window alike; nothing is aimed at a known defect. Numbers come from the seeded stream, under a
    lock of their own, so that a seed gives the same sequence of pauses (which thread meets which pause is still up to the
    operating system).
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
    """The queue was closed and is empty."""


class Event:
    """A flag that threads can wait for."""

    def __init__(self, name: str) -> None:
        self._changed = condition(name)
        self._set = False

    def is_set(self) -> bool:
        """Whether set() was called."""
        return self._set

    def set(self) -> None:
        """Raise the flag for good and wake all who wait."""
        with self._changed:
            self._set = True
            self._changed.notify_all()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the flag is up; False when the time ran out first."""
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
        """Append; ignored once the queue is closed."""
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._changed.notify()

    def get(self) -> T:
        """Remove and return the oldest item, waiting for one; raise Closed at the end."""
        with self._changed:
            while not self._items:
                if self._closed:
                    raise Closed
                self._changed.wait()
            return self._items.popleft()

    def close(self) -> None:
        """Let the items that are there be taken, then end every get."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._items)
