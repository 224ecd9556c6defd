"""A mutant: an insertion of allocated devices does not increase the revision."""

from harness.subject.allocation import allocated_states
from harness.subject.tracking import allocated_devices


class BumpedLateDevices(allocated_devices.AllocatedDevices):
    """An insertion does not increase the revision; the next copy of the set does.

    A gather that copied the set before the insertion then still finds its revision current.
    Increasing the revision right after the lock was released is harmless, because `assume` waits
    for its events: the claim leaves the in-flight claims after that. The increase must be missing
    for longer. This mutant of the fix of root cause B was never shipped.
    """

    def __init__(self) -> None:
        super().__init__()
        self._owed = 0

    def get(self) -> tuple[allocated_states.AllocatedState, int]:
        """Return a copy of the set, and the revision, which is increased only now."""
        with self._guard:
            self._revision += self._owed
            self._owed = 0
            return self._state.copy(), self._revision

    def _bump(self) -> None:
        self._owed += 1
