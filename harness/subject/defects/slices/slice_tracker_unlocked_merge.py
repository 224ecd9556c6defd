"""Slices and rules merged without a common lock (kubernetes#140005)."""

from harness import concurrency
from harness.subject.slice_tracking import slice_trackers


class UnlockedMergeSliceTracker(slice_trackers.SliceTracker):
    """A slice is merged with the rules before the lock under which it is stored is taken.

    Of two informers that merge the same slice, the one that read the older slice or rules may store
    its result last. The stored slice is outdated until its next change. Up to the newest release of
    kube-scheduler, with DeviceTaintRules on.
    """

    def _sync(self, name: str, *, initial: bool = False) -> None:
        with self._guard:
            merged = self._merge(name)
        concurrency.step("slice-tracker.merged", slice=name)
        with self._guard:
            self._store(name, merged, initial=initial)
        self._emit()
