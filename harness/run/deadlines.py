"""The moment at which a campaign's time budget ends, for the run that is under way then."""

from harness import clocks, errors


class Deadline:
    """The end of the time for a run; None: there is none."""

    def __init__(self, at_ns: int | None = None) -> None:
        """`at_ns`: nanoseconds of the monotonic clock of this boot."""
        self._at_ns = at_ns
        self.has_cut = False
        """True once it has ended a run."""

    def left_s(self) -> float:
        """Return the seconds that are left; negative afterwards."""
        if self._at_ns is None:
            return float("inf")
        return (self._at_ns - clocks.monotonic_ns()) / 1e9

    def require_time(self) -> None:
        """Raise TimeUpError if no time is left."""
        if self.left_s() <= 0:
            self.has_cut = True
            raise errors.TimeUpError(
                "expected the run to end within the time budget of its campaign"
            )
