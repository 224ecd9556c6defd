"""The view that a search has of a run besides its choices: turns, and the objects they use.

A turn is everything that a task does from one place where it may be replaced to the next one. It
is declared by the operations themselves: locks, queues, requests, watches, timers, the end of a
task. They may declare more than they use, never less. Two uses of one object commute if both read,
if both only add (`concurrency.Use`), or if both are of parts of what a lock guards: then the parts
are objects of their own.
"""

from collections.abc import Sequence

from harness import concurrency
from harness.explore.runtime import tasks

NOW, TIMERS = 0, -1
"""Identities of virtual time, and of the timers; the next one may expire early.

Setting and cancelling a timer write TIMERS; to let one expire early writes both.
"""
EVERYTHING = -2
"""Identity of what a turn uses that conflicts with every turn of another task."""
TASKS = -3
"""Identity of the list of tasks, whose order gives them their numbers."""


class Observer:
    """Receives every turn of the explored part of a run; this one does not look."""

    def turn(self, options: Sequence[tasks.Task], timers: int, chosen: int) -> bool:
        """Handle the beginning of a turn; return False to abandon the run.

        `options`: the tasks that could take it; the last `timers` of them by letting their timer
        expire; `chosen`: which one does.
        """
        del options, timers, chosen
        return True

    def uses(self, identity: int, how: concurrency.Use) -> None:
        """Handle a use of a shared object in this turn."""

    def enables(self, task: tasks.Task) -> None:
        """Handle that this turn lets a task go on which otherwise could not."""

    def releases(self, identity: int) -> None:
        """Handle that this turn releases a lock."""

    def position(self) -> int:
        """Return the number of this turn; -1: there is none."""
        return -1

    def follows(self, position: int) -> None:
        """Handle that this turn would not be possible without an earlier one."""

    def rests(self, among: Sequence[tasks.Task], early: Sequence[tasks.Task]) -> None:
        """Handle that none of the tasks can run: what follows comes after everything before.

        `early`: the tasks whose timer expires now, if it might have expired earlier.
        """
