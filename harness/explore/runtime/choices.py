"""What is decided in a run, and by whom: the choices of a runtime, the strategies that make them, and the tape that keeps them."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import msgspec

from harness.explore.runtime import tasks

ENOUGH = -1
"""What a strategy says instead of a choice when the run need not go on."""


class TooLong(Exception):  # noqa: N818 - an outcome of a run
    """A run took more choices than allowed: a livelock, or too large a scenario."""


class Enough(Exception):  # noqa: N818 - an outcome of a run
    """The strategy does not want to know how the run goes on."""


class Observed(Protocol):
    """What a strategy may ask of the runtime."""

    def state(self) -> int:
        """Return a hash of everything on which the rest of the run depends."""

    def is_redundant(self, task: tasks.Task) -> bool:
        """Return whether letting this task continue shows nothing new."""


class Choice(msgspec.Struct):
    """What is to be decided."""

    options: int
    """How many there are."""
    free: int
    """So many of the first ones take nobody's turn away; any other is a preemption, or a timer that goes off early."""
    tasks: "Sequence[tasks.Task]"
    """The tasks to choose from, in the order of the options; empty when something else is to be decided."""
    timers: int
    """So many of the last options are tasks whose timer would go off early."""
    runtime: Observed
    """Whose choice it is."""


class Strategy(Protocol):
    """Decides."""

    def choose(self, choice: Choice) -> int:
        """A number below `choice.options`, 0 being what happens when nobody interferes; or ENOUGH."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tape:
    """What was decided in a run, in order."""

    decisions: list[int] = dataclasses.field(default_factory=list)
    options: list[int] = dataclasses.field(default_factory=list)
    """Of each decision."""
    free: list[int] = dataclasses.field(default_factory=list)
    """So many of the options cost no preemption."""

    def add(self, decision: int, choice: Choice) -> None:
        """One more decision."""
        self.decisions.append(decision)
        self.options.append(choice.options)
        self.free.append(choice.free)
