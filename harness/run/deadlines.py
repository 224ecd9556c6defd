"""The moment at which a campaign ends, for the run that is under way then."""

import math
from collections.abc import Callable

from harness import errors


class Deadline:
    """The end of the time for a run; by default there is none."""

    def __init__(self, left_s: Callable[[], float] = lambda: math.inf) -> None:
        """`left_s` returns the seconds that are left; 0 or less after the end."""
        self.left_s = left_s
        self.has_cut = False
        """True once it has ended a run."""

    def require_time(self) -> None:
        """Raise TimeUpError if no time is left."""
        if self.left_s() <= 0:
            self.has_cut = True
            raise errors.TimeUpError("the run was cut, because the time for it had ended")
