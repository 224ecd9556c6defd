"""The progress that a run reports, which the command line displays, and the end of its time."""

import math
from collections.abc import Callable, Sequence

from harness import errors


class Progress:
    """A display of progress, called from the run's own thread; this one displays nothing."""

    def phase(self, name: str) -> None:
        """Show that the run has entered a phase."""

    def advance(self, done: int, total: int, unit: str) -> None:
        """Show how much of a phase is done, such as 47 of 200 `pods`; `done` may exceed `total`."""

    def note(self, text: str) -> None:
        """Show a line that stays."""

    def faults(self, active: Sequence[str]) -> None:
        """Show which faults are on; called often."""


class Deadline:
    """The end of the time for a run; by default there is none."""

    def __init__(self, left_s: Callable[[], float] = lambda: math.inf) -> None:
        """`left_s` returns the seconds that are left; 0 or less after the end."""
        self.left_s = left_s
        self.has_cut = False
        """True once it has ended a run."""

    def require_time(self) -> None:
        if self.left_s() <= 0:
            self.has_cut = True
            raise errors.TimeUpError("the run was cut, because the time for it had ended")
