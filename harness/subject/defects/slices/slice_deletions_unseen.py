"""A mutant of the slice tracker: a slice that was deleted stays."""

from harness.model.objects import Object
from harness.subject.slice_tracking import slice_trackers


class DeletionsUnseenSliceTracker(slice_trackers.SliceTracker):
    """The tracker keeps slices that were deleted, so that their devices are allocated further.

    Pods with devices of a pool that a driver has withdrawn cannot run. A mutant; no release is
    known to be affected.
    """

    def _store(self, name: str, merged: Object | None, *, initial: bool) -> None:
        if merged is not None:
            super()._store(name, merged, initial=initial)
