"""The events of informers: which pods are queued, and which may be schedulable now.

After pkg/scheduler/eventhandlers.go. An event that cannot change the outcome of an attempt, such as
a node's heartbeat, is no cluster event.
"""

from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import change_handlers, claims
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
        if self._is_mine(obj):
            self._queue.put(obj)
        else:
            self._remove(obj)

    def on_delete(self, last: Object) -> None:
        self._remove(last)

    def _remove(self, pod: Object) -> None:
        self._queue.remove(pod)
        self._reports.forget(pod)

    def _is_mine(self, pod: Object) -> bool:
        spec = pod["spec"]
        return bool(
            spec.get("schedulerName") == self._name
            and not spec.get("nodeName")
            and not claims.is_deleting(pod)
            and not spec.get("schedulingGates")
            and not claims.is_done(pod)
        )


class ObjectEvents(change_handlers.Changes):
    """The cluster events of objects of one kind: which pods a change of one may help."""

    def __init__(
        self, queue: scheduling_queue.SchedulingQueue, resource: str, *, only_spec: bool = False
    ) -> None:
        """`only_spec`: other fields do not matter, as of ResourceSlices and DeviceClasses."""
        super().__init__(self._move)
        self._queue, self._resource, self._only_spec = queue, resource, only_spec

    def _move(self, old: Object | None, new: Object | None) -> None:
        if self._only_spec and old and new and old.get("spec") == new.get("spec"):
            return
        action = cluster_events.UPDATE if old and new else cluster_events.ADD
        action = action if new else cluster_events.DELETE
        self._queue.move(cluster_events.ClusterEvent(self._resource, action, old, new))


class NodeEvents(ObjectEvents):
    """The cluster events of nodes: one for each property that changed; a heartbeat changes none."""

    def _move(self, old: Object | None, new: Object | None) -> None:
        if old and new:
            for event in cluster_events.of_node(old, new):
                self._queue.move(event)
        elif new:  # a node that goes helps no pod
            super()._move(old, new)
