"""Controlled threads: greenlets with the state that the runtime keeps of them."""

import dataclasses
from collections.abc import Callable
from typing import Any


class Shared:
    """An object that several tasks use."""

    __slots__ = ("added", "identity", "past")

    def __init__(self, past: int) -> None:
        self.identity = past
        """Its name in every run that begins alike: no two objects begin with the same past."""
        self.past = past
        """A hash of everything that happened before the last change."""
        self.added = 0
        """A hash of the changes since then whose order does not matter."""

    @property
    def is_blocking(self) -> bool:
        """True while no task can get it: a lock that is held, or a queue that is empty."""
        return False

    def hold_whole(self) -> None:
        """Record that another task may want it while a task holds it."""


class Stop(BaseException):
    """Ends a task when its run is over.

    A BaseException, so that no handler in the task catches it.
    """


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """A controlled thread."""

    number: int
    name: str
    past: int
    """A hash of everything that happened before."""
    held: list[Shared] = dataclasses.field(default_factory=list)
    """The locks that the task holds."""
    glet: Any = None
    """The greenlet; None until it is created."""
    obstacle: Shared | None = None
    """The object that the task takes as soon as it runs; None: it can go on in any case."""
    done: bool = False
    ended_at: int = -1
    """The number of the turn in which the task ended; -1: not in an observed one."""
    waits_for: str = ""
    """The object on which the task is blocked, for messages; empty if it is runnable."""
    deadline_ns: int | None = None
    """Virtual time at which the task stops waiting; None: no timer."""
    timed_out: bool = False
    wait_for_end: Callable[["Task", float | None], None] | None = None
    """Waits until a task has ended; set by the runtime."""

    @property
    def can_go_on(self) -> bool:
        """True if the task, when it runs, does not have to wait at once."""
        return self.obstacle is None or not self.obstacle.is_blocking

    def join(self, timeout: float | None = None) -> None:
        """Wait until the task has ended, if the running task has spawned it.

        Otherwise do nothing, as when an actor stops a scheduler that another one has started: a run
        ends all tasks at once.
        """
        if self.wait_for_end is not None:
            self.wait_for_end(self, timeout)

    def is_alive(self) -> bool:
        return not self.done


EARLY_MAX = 2
"""Maximum number of timers in a run that expire while another task can run.

Without a limit, endless retrying would be a finding.
"""


class Timers:
    """Tasks that wait with a timeout."""

    def __init__(self, *, time_max_ns: int) -> None:
        """Create a clock at 0. Timers later than `time_max_ns` never expire."""
        self._time_max_ns = time_max_ns
        self._waiting: dict[Task, None] = {}
        self.now_ns = 0
        self.early_left = EARLY_MAX
        """Number of timers that may still expire early."""

    def set(self, task: Task, seconds: float) -> None:
        # At least one nanosecond, or time would not advance.
        task.deadline_ns = self.now_ns + max(round(seconds * 1e9), 1)
        self._waiting[task] = None

    def cancel(self, task: Task) -> None:
        self._waiting.pop(task, None)
        task.deadline_ns = None

    def next_ns(self) -> int | None:
        """Return when the next timer expires; None if none will."""
        first = min((task.deadline_ns or 0 for task in self._waiting), default=None)
        return None if first is None or first > self._time_max_ns else first

    def early(self) -> list[Task]:
        """Return the tasks whose timer may expire early: those of the next deadline."""
        if not self._waiting or not self.early_left:
            return []
        first = self.next_ns()
        return [task for task in self._waiting if task.deadline_ns == first]

    def pass_to(self, now_ns: int) -> list[Task]:
        """Advance time; return the tasks whose timers expire."""
        self.now_ns = max(self.now_ns, now_ns)
        return [task for task in self._waiting if (task.deadline_ns or 0) <= self.now_ns]
