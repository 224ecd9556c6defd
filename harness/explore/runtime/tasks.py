"""Controlled threads: greenlets with what the runtime must know of them."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol


class Shared:
    """Something that several tasks use."""

    __slots__ = ("past",)

    def __init__(self, past: int) -> None:
        self.past = past
        """A hash of all that happened before its last change."""


class Stop(BaseException):
    """Ends a task when its run is over; no mistake of a task, so nothing in it may catch it."""


class Held(Protocol):
    """A lock that a task holds."""

    @property
    def is_awaited(self) -> bool:
        """Whether another task waits for it."""


@dataclasses.dataclass(eq=False, slots=True)
class Task:
    """A controlled thread."""

    number: int
    name: str
    past: int
    """A hash of all that happened before."""
    about_to: Sequence[Shared] = ()
    """What it was about to use when its turn was taken away."""
    unchanged: Sequence[int] = ()
    """Their pasts at that moment."""
    held: list[Held] = dataclasses.field(default_factory=list)
    """The locks that it has."""
    glet: Any = None
    """Its greenlet, once it has one."""
    done: bool = False
    waits_for: str = ""
    """What it is blocked on, in words."""
    deadline_ns: int | None = None
    """When it stops waiting."""
    timed_out: bool = False

    def join(self, timeout: float | None = None) -> None:
        """Runs are ended all at once; nobody needs to wait for a task."""

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not self.done
