"""Known defects of the slice tracker."""

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.slice_tracking import slice_trackers


class DeletionsUnseenSliceTracker(slice_trackers.SliceTracker):
    """The tracker keeps slices that were deleted, so that their devices are allocated further.

    Pods with devices of a pool that a driver has withdrawn cannot run. A mutant; no release is
    known to be affected.
    """

    facts = replacements.Facts(
        name="slice-deletions-unseen",
        check="existing_devices",
    )

    def _store(self, name: str, merged: Object | None, *, initial: bool) -> None:
        if merged is not None:
            super()._store(name, merged, initial=initial)


class SharedDrainSliceTracker(slice_trackers.SliceTracker):
    """Several informers drain the event queue of the slice tracker at the same time.

    One thread has popped an event but not yet delivered it, while another delivers a later event of
    the same slice. The allocator then ends with the older slice: it allocates a device that is
    tainted, or keeps away from one that is not, until the next change of the slice. Up to the
    newest release of kube-scheduler, with DeviceTaintRules on.
    """

    facts = replacements.Facts(
        name="slice-tracker-shared-drain",
        check="tainted_devices",
        issues=("kubernetes#140005",),
        releases=replacements.Releases(
            first="1.34.2", last="1.36.2", is_open=True, given="with DRADeviceTaintRules"
        ),
        worlds=("taint-rule",),
    )

    def _emit(self) -> None:
        self._drain()


class UnlockedMergeSliceTracker(slice_trackers.SliceTracker):
    """A slice is merged with the rules before the lock under which it is stored is taken.

    Of two informers that merge the same slice, the one that read the older slice or rules may store
    its result last. The stored slice is outdated until its next change. Up to the newest release of
    kube-scheduler, with DeviceTaintRules on.
    """

    facts = replacements.Facts(
        name="slice-tracker-unlocked-merge",
        check="tainted_devices",
        issues=("kubernetes#140005",),
        releases=replacements.Releases(
            first="1.34.2", last="1.36.2", is_open=True, given="with DRADeviceTaintRules"
        ),
        worlds=("taint-rule",),
    )

    def _sync(self, name: str, *, initial: bool = False) -> None:
        with self._guard:
            merged = self._merge(name)
        concurrency.step("slice-tracker.merged", slice=name)
        with self._guard:
            self._store(name, merged, initial=initial)
        self._emit()
