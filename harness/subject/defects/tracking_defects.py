"""Known defects of the scheduler's books, of its slice tracker, and of its queue with the hints."""

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocated_states
from harness.subject.defects import panics
from harness.subject.plugin import claim_binding
from harness.subject.queueing import cluster_events, queue_parts, queueing_hints, scheduling_queue
from harness.subject.slice_tracking import slice_trackers
from harness.subject.tracking import allocated_devices, assume_caches, gathering, in_flight


@replacements.known_as("assume-cache-early-return")
class EarlyReturnAssumeCache(assume_caches.AssumeCache):
    def _begin_emitting(self) -> bool:
        with concurrency.in_parts(self._changed):
            if self._emitting.is_taken:
                return False
            self._emitting.take()
        return True


@replacements.known_as("assume-cache-shared-drain")
class SharedDrainAssumeCache(assume_caches.AssumeCache):
    def _emit(self) -> None:
        while True:
            with concurrency.in_parts(self._changed):
                event = self._take_event()
            if event is None:
                return
            event.deliver()


@replacements.known_as("gather-not-atomic")
class NotAtomicGatherer(gathering.Gatherer):
    def _is_current(self, revision: int) -> bool:
        del revision
        return True


@replacements.known_as("in-flight-overwritten")
class OverwrittenInFlightClaims(in_flight.InFlightClaims):
    def _note(self, uid: str, claim: Object) -> bool:
        self._plans[uid] = 1
        self._claims[uid] = claim
        return True


@replacements.known_as("in-flight-removed-first")
class RemovedFirstBinder(claim_binding.ClaimBinder):
    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        if was_planned and written is not None:
            self._in_flight.remove(uid)
        self._assume(uid, written)


@replacements.known_as("revision-bumped-late")
class BumpedLateDevices(allocated_devices.AllocatedDevices):
    def __init__(self) -> None:
        super().__init__()
        self._owed = 0

    def get(self) -> tuple[allocated_states.AllocatedState, int]:
        with self._guard:
            self._revision += self._owed
            self._owed = 0
            return self._state.copy(), self._revision

    def _bump(self) -> None:
        self._owed += 1


@replacements.known_as("revision-compared-early")
class ComparedEarlyGatherer(gathering.Gatherer):
    def attempt(self) -> allocated_states.AllocatedState | None:
        in_use, revision = self._allocated.get()
        if not self._is_current(revision):
            return None
        concurrency.step("gather.devices.cloned", revision=revision, count=len(in_use.devices))
        self._add_in_flight(in_use)
        return in_use


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


@replacements.known_as("claim-deletion-ignored")
class ClaimDeletionIgnoredHints(queueing_hints.QueueingHints):
    def after_claim_change(
        self, pod: Object, old: Object | None, new: Object | None
    ) -> queueing_hints.Hint:
        return queueing_hints.SKIP if new is None else super().after_claim_change(pod, old, new)


@replacements.known_as("slice-event-ignored")
class SliceEventIgnoredHints(queueing_hints.QueueingHints):
    def after_device_change(self, event: cluster_events.ClusterEvent) -> queueing_hints.Hint:
        is_slice = event.resource == cluster_events.SLICE
        return queueing_hints.SKIP if is_slice else super().after_device_change(event)


@replacements.known_as("pod-status-ignored")
class PodStatusIgnoredHints(queueing_hints.QueueingHints):
    def after_pod_change(
        self, pod: Object, event: cluster_events.ClusterEvent
    ) -> queueing_hints.Hint:
        del pod, event
        return queueing_hints.SKIP


@replacements.known_as("unindexed-pod")
class UnindexedPodQueue(scheduling_queue.SchedulingQueue):
    def _index(self, queued: queue_parts.QueuedPod, pod: Object) -> None:
        if queued.pod is pod:
            super()._index(queued, pod)


@replacements.known_as("taint-rule-kills")
class TaintRuleKillsTracker(slice_trackers.SliceTracker):
    def _selected(self, rule: Object) -> list[str]:
        del rule
        return []

    def _merge(self, name: str) -> Object | None:
        if self._rules and name in self._slices:
            raise panics.Panic("panic: interface conversion: *v1beta2 is not *v1alpha3")
        return super()._merge(name)
