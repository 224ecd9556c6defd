"""A mutant of the fix of root cause B: the revision does not move with an insertion."""

from harness.subject import allocated_devices


class BumpedLateDevices(allocated_devices.AllocatedDevices):
    """An insertion only notes that the revision has to grow; it grows when somebody copies the set the next time.

    So a gather that copied the set before the insertion finds its revision still current. Bumping merely after the lock was given
    back turned out to be harmless once `assume` waits for its events: the claim leaves the in-flight claims later than the bump. The
    bump must be missing for longer than that. Never shipped.
    """

    def __init__(self) -> None:
        super().__init__()
        self._owed = 0

    def get(self) -> tuple[set[str], int]:
        """A copy of the set, and a revision that has caught up only now."""
        with self._guard:
            self._revision += self._owed
            self._owed = 0
            return set(self._devices), self._revision

    def _bump(self) -> None:
        self._owed += 1
