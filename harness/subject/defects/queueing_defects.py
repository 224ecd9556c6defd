"""Known defects of the scheduling queue and its hints: each leaves a pod waiting."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.defects import panics
from harness.subject.queueing import cluster_events, queue_parts, queueing_hints, scheduling_queue
from harness.subject.slice_tracking import slice_trackers


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
