"""The drain loop that kube-scheduler's slice tracker still has (kubernetes#140005)."""

from harness.subject.slice_tracking import slice_trackers


class SharedDrainSliceTracker(slice_trackers.SliceTracker):
    """Several informers drain the event queue of the slice tracker at the same time.

    One thread has popped an event but not yet delivered it, while another delivers a later event of
    the same slice. The allocator then ends with the older slice: it allocates a device that is
    tainted, or keeps away from one that is not, until the next change of the slice. Up to the
    newest release of kube-scheduler, with DeviceTaintRules on.
    """

    def _emit(self) -> None:
        self._drain()
