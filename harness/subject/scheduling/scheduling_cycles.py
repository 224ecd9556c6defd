"""The scheduling cycle: the one thread that decides, one pod at a time.

After schedulingCycle in pkg/scheduler/schedule_one.go.
"""

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import dynamic_resources, scheduling_attempts
from harness.subject.queueing import queue_parts, scheduling_queue
from harness.subject.scheduling import binding_cycle, node_search
from harness.subject.telemetry import klog, pod_reports

NO_CLAIMS = "no new claims to deallocate"
"""PostFilter's words about a pod that PreFilter has refused; kube-scheduler's."""


class SchedulingCycle:
    """Takes pods from the queue, reserves devices for them, and hands them to the binders."""

    def __init__(
        self,
        plugin: dynamic_resources.DynamicResources,
        *,
        queue: scheduling_queue.SchedulingQueue,
        nodes: node_search.NodeList,
        binders: binding_cycle.Binders,
        reports: pod_reports.PodReports,
        search: node_search.NodeSearch,
    ) -> None:
        self._plugin, self._queue, self._nodes = plugin, queue, nodes
        self._binders, self._reports = binders, reports
        self._search = search
        self.thread: concurrency.Thread | None = None
        """The scheduling thread; None before `start`."""

    def start(self) -> None:
        self.thread = concurrency.spawn("scheduling", self._schedule_all)

    def join(self) -> None:
        if self.thread is not None:
            self.thread.join()

    def _schedule_all(self) -> None:
        while True:
            try:
                queued = self._queue.pop()
            except concurrency.Closed:
                return
            self._schedule(queued)

    def _schedule(self, queued: queue_parts.QueuedPod) -> None:
        """Try one pod: reserve devices on a node that fits, and queue its binding."""
        concurrency.step("scheduling.started", pod=queued.uid, attempt=queued.attempts)
        try:
            attempt = self._pre_filter(queued.pod)
            node, allocations = self._find_node(attempt)
            self._reserve(attempt, node, allocations)
        except scheduling_attempts.Unschedulable as reason:
            concurrency.step("scheduling.unschedulable", pod=queued.uid, reason=str(reason))
            self._reports.failed(queued.pod, pod_reports.UNSCHEDULABLE, str(reason))
            self._queue.failed(queued, unschedulable=True, rejectors=reason.rejectors)
        except scheduling_attempts.AttemptError as error:
            klog.error(5, error, "dynamic resource plugin failed", pod=queued.pod)
            concurrency.step("scheduling.failed", pod=queued.uid, reason=str(error))
            self._reports.failed(queued.pod, pod_reports.SCHEDULER_ERROR, str(error))
            self._queue.failed(queued, unschedulable=False)
        else:
            name = node["metadata"]["name"]
            concurrency.step("reserve.done", pod=queued.uid, node=name)
            self._binders.put(binding_cycle.Binding(queued, attempt, name))

    def _pre_filter(self, pod: Object) -> scheduling_attempts.Attempt:
        try:
            return self._plugin.pre_filter(pod)
        except scheduling_attempts.Unschedulable as reason:
            count = len(self._nodes.listed())
            text = f"0/{count} nodes are available: {reason}. {NO_CLAIMS}, "
            text += scheduling_attempts.preemption({scheduling_attempts.NOT_HELPFUL: count})
            raise scheduling_attempts.Unschedulable(text, reason.rejectors) from reason
        except scheduling_attempts.AttemptError as error:
            text = f'running PreFilter plugin "{scheduling_attempts.DYNAMIC_RESOURCES}": {error}'
            raise scheduling_attempts.AttemptError(text) from error

    def _find_node(self, attempt: scheduling_attempts.Attempt) -> tuple[Object, list[Object]]:
        try:
            found = self._search.find(attempt, self._nodes.listed())
        except scheduling_attempts.AttemptError as error:
            text = f'running "{scheduling_attempts.DYNAMIC_RESOURCES}" filter plugin: {error}'
            raise scheduling_attempts.AttemptError(text) from error
        if found is not None:
            return found
        freed = self._give_up_one_allocation(attempt)
        raise scheduling_attempts.Unschedulable(attempt.explanation(freed), attempt.rejectors())

    def _reserve(
        self, attempt: scheduling_attempts.Attempt, node: Object, allocations: list[Object]
    ) -> None:
        try:
            self._plugin.reserve(attempt, node, allocations)
        except scheduling_attempts.AttemptError as error:
            self._plugin.unreserve(attempt)
            plugin = scheduling_attempts.DYNAMIC_RESOURCES
            raise scheduling_attempts.AttemptError(
                f'running Reserve plugin "{plugin}": {error}'
            ) from error

    def _give_up_one_allocation(self, attempt: scheduling_attempts.Attempt) -> str:
        try:
            return self._plugin.post_filter(attempt)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step(
                "post-filter.failed", pod=claims.uid_of(attempt.pod), reason=str(error)
            )
            return str(error)
