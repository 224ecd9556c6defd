"""Controlled threads: greenlets with the state that the runtime keeps of them."""

import dataclasses
from collections.abc import Sequence
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

    def join(self, timeout: float | None = None) -> None:
        """Do nothing: a run ends all tasks at once."""

    def is_alive(self) -> bool:
        """Return whether the task has not ended."""
        return not self.done
