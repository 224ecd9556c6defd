"""Choices of a run, and the interface of strategies that make them."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from harness.explore.runtime import tasks

GIVE_UP = -1
"""Returned by a strategy in place of a choice to abandon the run."""


class TooLong(Exception):  # noqa: N818 - an outcome of a run
    """A run took more choices than allowed: a livelock, or a world that is too large."""


class GivenUp(Exception):  # noqa: N818 - an outcome of a run
    """The strategy abandoned the run."""


class Choice(msgspec.Struct):
    """A decision to make."""

    options: int
    """Number of options."""
    free: int
    """Number of leading options that interrupt no task.

    Any later option is a preemption, or a timer that expires early.
    """
    tasks: "Sequence[tasks.Task]"
    """The tasks to choose from, in the order of the options; empty for a choice of another kind."""
    timers: int
    """Number of trailing options that are tasks whose timer would expire early."""


class Strategy(Protocol):
    """Makes the choices of a run."""

    def choose(self, choice: Choice) -> int:
        """Return a number below `choice.options`, or GIVE_UP.

        0 is the undisturbed course of the run.
        """
