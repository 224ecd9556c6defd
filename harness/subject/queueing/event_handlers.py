"""The events of informers: which pods are queued, and which may be schedulable now.

After pkg/scheduler/eventhandlers.go. An event that cannot change the outcome of an attempt, such as
a node's heartbeat, moves no pod.
"""

from typing import Any

from harness.client import informers
from harness.subject import claims
from harness.subject.queueing import scheduling_queue
from harness.subject.telemetry import pod_reports

Object = dict[str, Any]


class PodEvents:
    """Queues and removes pods."""

    def __init__(
        self,
        queue: scheduling_queue.SchedulingQueue,
        reports: pod_reports.PodReports,
        *,
        scheduler_name: str,
    ) -> None:
        """`reports` forget a pod that is removed."""
        self._queue, self._reports, self._name = queue, reports, scheduler_name

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Queue a pod."""
        del initial
        self._put(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Queue a pod, or remove it if it needs no scheduling any more."""
        del old
        self._put(new)

    def on_delete(self, last: Object) -> None:
        """Remove a pod."""
        self._remove(last)

    def _put(self, pod: Object) -> None:
        if self._is_mine(pod):
            self._queue.put(pod)
        else:
            self._remove(pod)

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


class ClaimEvents:
    """Queueing hints for claims: a change may let pods be scheduled that use the claim."""

    def __init__(self, queue: scheduling_queue.SchedulingQueue) -> None:
        self._queue = queue

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Retry the pods that wait for the claim."""
        del initial
        self._queue.move_after_claim(informers.key_of(obj), freed=False)

    def on_update(self, old: Object, new: Object) -> None:
        """Retry the pods of the claim, or all pods if it has given back its devices."""
        if old.get("status") == new.get("status"):
            return  # only metadata changed, such as the finalizer
        freed = claims.allocation_of(old) is not None and claims.allocation_of(new) is None
        self._queue.move_after_claim(informers.key_of(new), freed=freed)

    def on_delete(self, last: Object) -> None:
        """Retry all pods if the claim has given back devices."""
        freed = claims.allocation_of(last) is not None
        self._queue.move_after_claim(informers.key_of(last), freed=freed)


class NodeEvents:
    """Queueing hints for nodes, DeviceClasses and slices: a change may affect every pod."""

    def __init__(self, queue: scheduling_queue.SchedulingQueue) -> None:
        self._queue = queue

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Retry all pods."""
        del obj, initial
        self._queue.move_all()

    def on_update(self, old: Object, new: Object) -> None:
        """Retry all pods, unless the update is only a heartbeat."""
        without_version = [
            {
                **item,
                "status": None,
                "metadata": {**item["metadata"], "resourceVersion": "", "managedFields": None},
            }
            for item in (old, new)
        ]
        if without_version[0] != without_version[1]:
            self._queue.move_all()

    def on_delete(self, last: Object) -> None:
        """Retry all pods."""
        del last
        self._queue.move_all()
