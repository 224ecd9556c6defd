"""The offset of a worker's clock from the master's, by round trips as in NTP (RFC 5905).

The master's time is somewhere between sending and receiving. The best of several round trips is
the shortest one: its error is at most half of its time on the way.
"""

import dataclasses
from collections.abc import Iterable

ROUND_TRIPS = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """The times of a question and its answer, in nanoseconds."""

    sent_ns: int
    """Time of the worker's clock, as `back_ns`."""
    received_ns: int
    """Time of the master's clock, as `answered_ns`."""
    answered_ns: int
    back_ns: int

    @property
    def offset_ns(self) -> int:
        """The estimate of what to add to the worker's times to get the master's."""
        return (self.received_ns - self.sent_ns + self.answered_ns - self.back_ns) // 2

    @property
    def uncertainty_ns(self) -> int:
        """Largest error of the estimate: half the time on the way."""
        on_the_way_ns = (self.back_ns - self.sent_ns) - (self.answered_ns - self.received_ns)
        return max(on_the_way_ns, 0) // 2 + 1


def best(trips: Iterable[RoundTrip]) -> RoundTrip:
    """Return the round trip with the least uncertainty; there must be one."""
    return min(trips, key=lambda trip: trip.uncertainty_ns)
