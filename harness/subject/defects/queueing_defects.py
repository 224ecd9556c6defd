"""Known defects of the scheduling queue and its hints: each leaves a pod waiting."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.defects import panics
from harness.subject.queueing import cluster_events, queue_parts, queueing_hints, scheduling_queue
from harness.subject.slice_tracking import slice_trackers


class ClaimDeletionIgnoredHints(queueing_hints.QueueingHints):
    """The deletion of a claim retries no pod, though it gives back devices (kubernetes#140831).

    A claim may be deleted while it is allocated, if it has no finalizer. Up to 1.36.3, which does
    not register the event.
    """

    facts = replacements.Facts(
        name="claim-deletion-ignored",
        check="claim_progress",
        issues=("kubernetes#140831",),
        releases=replacements.Releases(last="1.36.3"),
        worlds=("allocated-claim-deleted",),
    )

    def after_claim_change(
        self, pod: Object, old: Object | None, new: Object | None
    ) -> queueing_hints.Hint:
        return queueing_hints.SKIP if new is None else super().after_claim_change(pod, old, new)


class SliceEventIgnoredHints(queueing_hints.QueueingHints):
    """New and changed ResourceSlices retry no pod (kubernetes#126807).

    A pod that came before the driver published its devices waits until something else happens.
    Affects 1.30 and 1.31, which do not register the events.
    """

    facts = replacements.Facts(
        name="slice-event-ignored",
        check="claim_progress",
        issues=("kubernetes#126807",),
        releases=replacements.Releases(first="1.30", last="1.31"),
        worlds=("new-generation",),
    )

    def after_device_change(self, event: cluster_events.ClusterEvent) -> queueing_hints.Hint:
        is_slice = event.resource == cluster_events.SLICE
        return queueing_hints.SKIP if is_slice else super().after_device_change(event)


class PodStatusIgnoredHints(queueing_hints.QueueingHints):
    """The names of generated claims in a pod's status do not retry the pod (kubernetes#127497).

    If a pod was tried while its status named a claim that had been lost, and its next claim is
    there before the status names it, the pod waits until something else happens. Fixed in 1.32 by
    the hint for UpdatePodGeneratedResourceClaim.
    """

    facts = replacements.Facts(
        name="pod-status-ignored",
        check="claim_progress",
        issues=("kubernetes#127497",),
        releases=replacements.Releases(last="1.31"),
        worlds=("claim-lost-while-pod-waits",),
    )

    def after_pod_change(
        self, pod: Object, event: cluster_events.ClusterEvent
    ) -> queueing_hints.Hint:
        del pod, event
        return queueing_hints.SKIP


class UnindexedPodQueue(scheduling_queue.SchedulingQueue):
    """The index of pods by claim is not updated when a pod's status names its claims.

    An event of a generated claim that comes after it does not reach the pod, which waits until it
    is retried without an event. The index came with PreQueueingHint in 1.37; upstream, too, rescues
    some pods only in this way.
    """

    facts = replacements.Facts(
        name="unindexed-pod",
        check="claim_progress",
        worlds=("claim-lost-while-pod-waits", "two-users-one-device"),
    )

    def _index(self, queued: queue_parts.QueuedPod, pod: Object) -> None:
        if queued.pod is pod:
            super()._index(queued, pod)


class TaintRuleKillsTracker(slice_trackers.SliceTracker):
    """A slice that is merged while there is a DeviceTaintRule ends the process (kubernetes#139651).

    The handlers get rules of another version of the API than they expect. That of the rules' own
    events ignores them, so that it takes an event of a slice. Affects 1.36.2 with the gate
    DRADeviceTaintRules; seen there.
    """

    facts = replacements.Facts(
        name="taint-rule-kills",
        check="claim_progress",
        issues=("kubernetes#139651",),
        releases=replacements.Releases(
            first="1.36.2", last="1.36.2", given="with DRADeviceTaintRules"
        ),
        worlds=("taint-rule",),
    )

    def _selected(self, rule: Object) -> list[str]:
        del rule
        return []

    def _merge(self, name: str) -> Object | None:
        if self._rules and name in self._slices:
            raise panics.Panic("panic: interface conversion: *v1beta2 is not *v1alpha3")
        return super()._merge(name)
