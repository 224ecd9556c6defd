"""Known defects of the slice tracker."""

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.slice_tracking import slice_trackers


@replacements.known_as("slice-deletions-unseen")
class DeletionsUnseenSliceTracker(slice_trackers.SliceTracker):
    def _store(self, name: str, merged: Object | None) -> None:
        if merged is not None:
            super()._store(name, merged)


@replacements.known_as("slice-tracker-shared-drain")
class SharedDrainSliceTracker(slice_trackers.SliceTracker):
    def _emit(self) -> None:
        self._drain()


@replacements.known_as("slice-tracker-unlocked-merge")
class UnlockedMergeSliceTracker(slice_trackers.SliceTracker):
    def _sync(self, name: str) -> None:
        with self._guard:
            merged = self._merge(name)
        concurrency.step("slice-tracker.merged", slice=name)
        with self._guard:
            self._store(name, merged)
        self._emit()
