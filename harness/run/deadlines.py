"""The moment at which a campaign ends, for the run that is under way then."""

from collections.abc import Callable

from harness import clocks, errors


class Deadline:
    """The end of the time for a run; None: there is none."""

    def __init__(
        self, at_ns: int | None = None, *, has_ended: Callable[[], bool] | None = None
    ) -> None:
        """`at_ns`: nanoseconds of the monotonic clock of this boot.

        `has_ended` is asked whether the campaign has ended for another reason.
        """
        self._at_ns, self._has_ended = at_ns, has_ended
        self.has_cut = False
        """True once it has ended a run."""

    def left_s(self) -> float:
        """Return the seconds that are left; negative after the end of a time budget."""
        if self._has_ended is not None and self._has_ended():
            return 0.0
        if self._at_ns is None:
            return float("inf")
        return (self._at_ns - clocks.monotonic_ns()) / 1e9

    def require_time(self) -> None:
        """Raise TimeUpError if no time is left."""
        if self.left_s() <= 0:
            self.has_cut = True
            raise errors.TimeUpError("expected the run to end before its campaign")
