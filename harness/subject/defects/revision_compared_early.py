"""A mutant of the fix of root cause B: compared before the second read."""

from harness import concurrency
from harness.subject import gathering


class ComparedEarlyGatherer(gathering.Gatherer):
    """The revision is compared before the in-flight claims are read, when nothing can have gone wrong yet.

    A claim that moves from in flight to allocated after the comparison is seen in neither. Never shipped: a mutant that shows
    that the comparison must be the last thing.
    """

    def attempt(self) -> set[str] | None:
        """One try, that cannot fail when it should."""
        in_use, revision = self._allocated.get()
        if not self._is_current(revision):
            return None
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use))
        self._add_in_flight(in_use)
        return in_use
