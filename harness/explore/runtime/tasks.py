"""Controlled threads: greenlets with the state that the runtime keeps of them."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Shared:
    """An object that several tasks use."""

    __slots__ = ("past",)

    def __init__(self, past: int) -> None:
        """Create the object with its initial past."""
        self.past = past
        """A hash of everything that happened before the last change."""


class Stop(BaseException):
    """Ends a task when its run is over.

    A BaseException, so that no handler in the task catches it.
    """


class Held(Protocol):
    """A lock held by a task."""

    @property
    def is_awaited(self) -> bool:
        """True if another task waits for the lock."""


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """A controlled thread."""

    number: int
    name: str
    past: int
    """A hash of everything that happened before."""
    about_to: Sequence[Shared] = ()
    """The shared objects that the task was about to use when it was preempted."""
    unchanged: Sequence[int] = ()
    """The pasts of these objects at that moment."""
    held: list[Held] = dataclasses.field(default_factory=list)
    """The locks that the task holds."""
    glet: Any = None
    """The greenlet; None until it is created."""
    done: bool = False
    waits_for: str = ""
    """The object on which the task is blocked, for messages; empty if it is runnable."""
    deadline_ns: int | None = None
    """Virtual time at which the task stops waiting; None: no timer."""
    timed_out: bool = False
    wait_for_end: Callable[["Task", float | None], None] | None = None
    """Waits until a task has ended; set by the runtime."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until the task has ended, if the running task has spawned it.

        Otherwise do nothing, as when an actor stops a scheduler that another one has started: a run
        ends all tasks at once.
        """
        if self.wait_for_end is not None:
            self.wait_for_end(self, timeout)

    def is_alive(self) -> bool:
        """Return whether the task has not ended."""
        return not self.done
