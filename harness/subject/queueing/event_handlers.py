"""The events of informers: which pods are queued, and which may be schedulable now.

After pkg/scheduler/eventhandlers.go. An event that cannot change the outcome of an attempt, such as
a node's heartbeat, is no cluster event.
"""

from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.queueing import cluster_events, scheduling_queue
from harness.subject.telemetry import pod_reports


class PodEvents(informers.StateHandler):
    """Queues and removes pods."""

    def __init__(
        self,
        queue: scheduling_queue.SchedulingQueue,
        reports: pod_reports.PodReports,
        *,
        scheduler_name: str,
    ) -> None:
        self._queue, self._reports, self._name = queue, reports, scheduler_name

    def on_state(self, obj: Object) -> None:
        """Queue a pod, or remove it if it needs no scheduling any more."""
        if self._is_mine(obj):
            self._queue.put(obj)
        else:
            self._remove(obj)

    def on_delete(self, last: Object) -> None:
        """Remove a pod."""
        self._remove(last)

    def _remove(self, pod: Object) -> None:
        self._queue.remove(pod)
        self._reports.forget(pod)

    def _is_mine(self, pod: Object) -> bool:
        """Return whether this scheduler has to schedule the pod, now or later."""
        spec = pod["spec"]
        return bool(
            spec.get("schedulerName") == self._name
            and not spec.get("nodeName")
            and not claims.is_deleting(pod)
            and not spec.get("schedulingGates")
            and not claims.is_done(pod)
        )


class ObjectEvents:
    """The cluster events of objects of one kind."""

    def __init__(self, queue: scheduling_queue.SchedulingQueue, resource: str) -> None:
        self._queue, self._resource = queue, resource

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Retry the pods that a new object may help."""
        del initial
        self._move(cluster_events.ADD, None, obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Retry the pods that a changed object may help."""
        self._move(cluster_events.UPDATE, old, new)

    def on_delete(self, last: Object) -> None:
        """Retry the pods that the end of an object may help."""
        self._move(cluster_events.DELETE, last, None)

    def _move(self, action: str, old: Object | None, new: Object | None) -> None:
        self._queue.move(cluster_events.ClusterEvent(self._resource, action, old, new))


class SpecEvents(ObjectEvents):
    """The cluster events of ResourceSlices or DeviceClasses: only their spec matters."""

    def on_update(self, old: Object, new: Object) -> None:
        """Retry the pods that a changed spec may help."""
        if old.get("spec") != new.get("spec"):
            super().on_update(old, new)


class NodeEvents(ObjectEvents):
    """The cluster events of nodes: one for each property that changed."""

    def __init__(self, queue: scheduling_queue.SchedulingQueue) -> None:
        super().__init__(queue, cluster_events.NODE)

    def on_update(self, old: Object, new: Object) -> None:
        """Retry the pods that a changed property may help; a heartbeat changes none."""
        for event in cluster_events.of_node(old, new):
            self._queue.move(event)

    def on_delete(self, last: Object) -> None:
        """Do nothing: a node that goes helps no pod."""
