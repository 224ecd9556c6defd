"""A mutant: the gather compares the revision before its second read."""

from harness import concurrency
from harness.subject.allocation import allocated_states
from harness.subject.tracking import gathering


class ComparedEarlyGatherer(gathering.Gatherer):
    """The revision is compared too early: before the in-flight claims are read.

    A claim that moves from in flight to allocated after the comparison is seen in neither set. This
    mutant of the fix of root cause B was never shipped; it shows that the comparison must come
    last.
    """

    def attempt(self) -> allocated_states.AllocatedState | None:
        """Gather once; conflicts during the second read are not detected."""
        in_use, revision = self._allocated.get()
        if not self._is_current(revision):
            return None
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use.devices))
        self._add_in_flight(in_use)
        return in_use
