"""The scheduler: one thread makes the decisions, many threads bind, as in kube-scheduler.

After pkg/scheduler/schedule_one.go. The scheduling thread takes one pod at a time, filters the
nodes, reserves devices, and hands the pod to a binding thread, which writes to the API server
(PreBind, Bind). The first node that fits in natural order is chosen, and its first free devices, so
that all pods compete for the same device.
"""

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

from harness import concurrency
from harness.client import apis, informers, transports
from harness.subject import (
    allocated_devices,
    assume_caches,
    claims,
    dynamic_resources,
    final_books,
    gathering,
    in_flight,
    nodes,
    queueing_hints,
    scheduling_attempts,
    scheduling_queue,
)
from harness.subject.allocation import inventories
from harness.subject.binding import binding_cycle, claim_binding
from harness.subject.leadership import leaderships
from harness.subject.telemetry import pod_messages, pod_reports

Object = dict[str, Any]
SYNC_TIMEOUT_S = 30.0
"""Time limit for the initial list of each informer, in seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerParts:
    """The classes that make up the scheduler; known defects and remedies replace some of them."""

    assume_cache: type[assume_caches.AssumeCache] = assume_caches.AssumeCache
    allocated: type[allocated_devices.AllocatedDevices] = allocated_devices.AllocatedDevices
    gatherer: type[gathering.Gatherer] = gathering.Gatherer
    plugin: type[dynamic_resources.DynamicResources] = dynamic_resources.DynamicResources
    claim_binder: type[claim_binding.ClaimBinder] = claim_binding.ClaimBinder
    leadership: type[leaderships.Leadership] = leaderships.Leadership


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """Options of the scheduler."""

    scheduler_name: str = "flake-hunt"
    namespace: str | None = None
    """None: all namespaces."""
    binders: int = 32
    """Number of binding threads."""
    backoff_initial_s: float = 1.0
    backoff_max_s: float = 10.0
    lists_cached: bool = False
    """The first lists may come from a watch cache that lags, as with client-go's reflector without
    WatchListClient."""
    seed: int = 0
    """Seed of PostFilter's choice of the claim to deallocate."""


class Scheduler:
    """A scheduler for the pods whose `schedulerName` is its name."""

    def __init__(
        self,
        api: apis.Api,
        options: SchedulerOptions,
        parts: SchedulerParts | None = None,
        reports: pod_reports.PodReports | None = None,
    ) -> None:
        """`reports` tell the owners of pods what happens; None: nothing is told."""
        parts = parts or SchedulerParts()
        self._api, self._options = api, options
        self._reports = reports or pod_reports.NoReports()
        allocated = self._allocated = parts.allocated()
        flight = self._in_flight = in_flight.InFlightClaims()
        self._inventory = inventories.Inventory()
        self._cache = parts.assume_cache([allocated, queueing_hints.ClaimEvents(self)])
        self._leadership = parts.leadership(api, self._cache, namespace=options.namespace)
        self._writing_api = self._leadership.writing_api
        binder = parts.claim_binder(
            self._writing_api,
            cache=self._cache,
            in_flight_claims=flight,
            activate=lambda key: self.on_claim(key, freed=True),
        )
        self._plugin = parts.plugin(
            self._writing_api,
            cache=self._cache,
            in_flight_claims=flight,
            gatherer=parts.gatherer(allocated, flight),
            inventory=self._inventory,
            classes=self._device_classes,
            choices=random.Random(options.seed),
            binder=binder,
        )
        self._queue = scheduling_queue.SchedulingQueue(
            gate=self._may_enter,
            backoff_initial_s=options.backoff_initial_s,
            backoff_max_s=options.backoff_max_s,
        )
        self._binders = binding_cycle.Binders(
            self._writing_api,
            self._plugin,
            count=options.binders,
            reports=self._reports,
            on_failure=self._on_binding_failed,
        )
        self._thread: concurrency.Thread | None = None
        """The scheduling thread; None before this scheduler leads."""
        self._change_token = object()
        """A token that is replaced on each change of nodes, DeviceClasses or slices."""
        self._node_order: tuple[object, list[Object]] = (None, [])
        """The sorted nodes, cached with the value of `_change_token` before they were read."""
        self._make_informers()

    # ------------------------------------------------------------------- life cycle

    def start(self) -> None:
        """Start the informers, then the scheduling and binding threads.

        Raises ClusterError if the API server does not answer.
        """
        self.stand_by()
        self.lead()

    def stand_by(self) -> None:
        """Start the informers, so that everything is known when this scheduler begins to lead.

        Raises ClusterError if the API server does not answer.
        """
        for informer in self._informers:
            informer.start()
            informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)

    def lead(self, holds_lease: Callable[[], bool] | None = None) -> None:
        """Start the scheduling and binding threads, after `stand_by`.

        `holds_lease` returns whether the lease is certainly still held; None: there is no lease.
        Raises ClusterError if the API server does not answer.
        """
        if holds_lease is not None:
            self._leadership.use_lease(holds_lease)
        self._leadership.on_started_leading()
        self._plugin.start()
        self._reports.start()
        self._thread = concurrency.spawn("scheduling", self._schedule_all)
        self._binders.start()

    def stop(self) -> None:
        """Take no more pods, finish the bindings, and end every thread; also while standing by."""
        self._leadership.on_stopped_leading()
        self._queue.close()
        if self._thread is not None:
            self._thread.join()
            self._binders.stop()
            self._plugin.stop()
            self._reports.stop()
        for informer in self._informers:
            informer.stop()

    def pending(self) -> dict[str, int]:
        """Return the number of waiting pods by their place in the scheduling queue."""
        return self._queue.pending()

    def known_objects(self) -> list[Object]:
        """Return the claims of the assume cache and the pods of the informer."""
        return [*self._cache.objects(), *self._informers[-1].objects()]

    def write_books(self) -> None:
        """Write the final books as steps, after `stop`."""
        final_books.write(
            devices=self._allocated.get()[0].devices,
            in_flight=self._in_flight.listed(),
            cached=self._cache.objects(),
        )

    def _make_informers(self) -> None:
        """Create the informers; pods come last, after the objects that scheduling them needs."""
        namespace = self._options.namespace
        followed: list[tuple[apis.Resource, Sequence[informers.EventHandler]]] = [
            (apis.NODES, [queueing_hints.NodeEvents(self)]),
            (apis.DEVICE_CLASSES, [queueing_hints.NodeEvents(self)]),
            (apis.SLICES, [self._inventory, queueing_hints.NodeEvents(self)]),
            (apis.CLAIMS, [self._cache]),
            (apis.PODS, [queueing_hints.PodEvents(self)]),
        ]
        self._informers = [
            informers.Informer(
                self._api,
                resource,
                name=f"informer-{resource.plural}",
                handlers=handlers,
                namespace=namespace if resource.namespaced else None,
                lists_cached=self._options.lists_cached and self._leadership.accepts_cached_lists,
            )
            for resource, handlers in followed
        ]

    # --------------------------------------------------------------------- events

    def is_mine(self, pod: Object) -> bool:
        """Return whether this scheduler has to schedule the pod, now or later."""
        spec = pod["spec"]
        return bool(
            spec.get("schedulerName") == self._options.scheduler_name
            and not spec.get("nodeName")
            and not claims.is_deleting(pod)
            and not spec.get("schedulingGates")
            and not claims.is_done(pod)
        )

    def on_pod(self, pod: Object) -> None:
        """Queue a new or changed pod, or remove it if it needs no scheduling."""
        if self.is_mine(pod):
            self._queue.put(pod)
        else:
            self.on_pod_gone(pod)

    def on_pod_gone(self, pod: Object) -> None:
        """Remove a deleted pod from the queue."""
        self._queue.remove(pod)
        self._reports.forget(pod)

    def on_claim(self, key: str, *, freed: bool) -> None:
        """Retry the pods that use a changed claim; `freed`: all pods, as devices became free."""
        if freed:
            self._queue.move_all()
        self._queue.move_users(key)

    def on_cluster_change(self) -> None:
        """Retry all pods after a change of nodes, DeviceClasses or slices."""
        self._change_token = object()
        self._queue.move_all()

    def _may_enter(self, pod: Object) -> bool:
        reason = self._plugin.pre_enqueue(pod)
        if reason is not None:
            self._reports.failed(pod, pod_messages.UNSCHEDULABLE, reason)
        return reason is None

    # --------------------------------------------------------------- scheduling thread

    def _schedule_all(self) -> None:
        while True:
            try:
                queued = self._queue.pop()
            except concurrency.Closed:
                return
            self._schedule(queued)

    def _schedule(self, queued: scheduling_queue.QueuedPod) -> None:
        """Try one pod: reserve devices on the first node that fits, and queue its binding."""
        concurrency.step("scheduling.started", pod=queued.uid, attempt=queued.attempts)
        try:
            attempt = self._pre_filter(queued.pod)
            node, allocations = self._find_node(attempt)
        except scheduling_attempts.Unschedulable as reason:
            concurrency.step("scheduling.unschedulable", pod=queued.uid, reason=str(reason))
            self._reports.failed(queued.pod, pod_messages.UNSCHEDULABLE, str(reason))
            self._queue.failed(queued, unschedulable=True)
        except scheduling_attempts.AttemptError as error:
            concurrency.step("scheduling.failed", pod=queued.uid, reason=str(error))
            self._reports.failed(queued.pod, pod_messages.SCHEDULER_ERROR, str(error))
            self._queue.failed(queued, unschedulable=False)
        else:
            name = node["metadata"]["name"]
            self._plugin.reserve(attempt, allocations)
            concurrency.step("reserve.done", pod=queued.uid, node=name)
            self._binders.put(binding_cycle.Binding(queued, attempt, name))

    def _pre_filter(self, pod: Object) -> scheduling_attempts.Attempt:
        try:
            return self._plugin.pre_filter(pod)
        except scheduling_attempts.Unschedulable as reason:
            text = f"0/{len(self._nodes())} nodes are available: {reason}."
            raise scheduling_attempts.Unschedulable(text) from reason

    def _find_node(self, attempt: scheduling_attempts.Attempt) -> tuple[Object, list[Object]]:
        for node in self._nodes():
            if refusal := nodes.refusal(node, attempt.pod):
                attempt.refusals[refusal] += 1
                continue
            allocations = self._plugin.filter(attempt, node)
            if allocations is not None:
                return node, allocations
        self._give_up_one_allocation(attempt)
        raise scheduling_attempts.Unschedulable(attempt.explanation())

    def _give_up_one_allocation(self, attempt: scheduling_attempts.Attempt) -> None:
        try:
            self._plugin.post_filter(attempt)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step(
                "post-filter.failed", pod=claims.uid_of(attempt.pod), reason=str(error)
            )

    def _nodes(self) -> list[Object]:
        """Return the nodes in natural order: worker-2 before worker-10."""
        token = self._change_token  # read first: a change while nodes are read voids the cache
        if self._node_order[0] is not token:
            order = sorted(
                self._informers[0].objects(),
                key=lambda node: nodes.natural_order(node["metadata"]["name"]),
            )
            self._node_order = token, order
        return self._node_order[1]

    def _device_classes(self) -> dict[str, Object]:
        return {item["metadata"]["name"]: item for item in self._informers[1].objects()}

    # ---------------------------------------------------------------- binding threads

    def _on_binding_failed(self, binding: binding_cycle.Binding, reason: str) -> None:
        """Retry the pod, and those that waited for what its attempt had reserved."""
        self._reports.failed(binding.queued.pod, pod_messages.SCHEDULER_ERROR, reason)
        self._queue.failed(binding.queued, unschedulable=False, freed=True)
