"""The scheduler: one thread makes the decisions, many threads bind, as in kube-scheduler.

After pkg/scheduler/scheduler.go. The scheduling thread takes one pod at a time, filters the nodes,
reserves devices (`scheduling`), and hands the pod to a binding thread, which writes to the API
server (`binding_cycle`). The first node that fits in natural order is chosen, and its
first free devices, so that all pods compete for the same device.
"""

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence

from harness import concurrency
from harness.client import apis, informers, served_informers
from harness.model.objects import Object
from harness.subject.allocation import (
    allocators,
    capacities,
    holdings,
    inventories,
    searches,
)
from harness.subject.extended_resources import class_resolver
from harness.subject.leadership import leader_election
from harness.subject.objects import claims
from harness.subject.plugin import (
    binding_conditions,
    claim_binding,
    dynamic_resources,
    group_members,
    scheduling_attempts,
)
from harness.subject.queueing import (
    cluster_events,
    event_handlers,
    queueing_hints,
    scheduling_queue,
)
from harness.subject.scheduling import (
    binding_cycle,
    node_search,
    scheduling_cycles,
)
from harness.subject.slice_tracking import slice_trackers, taint_rules
from harness.subject.telemetry import pod_reports
from harness.subject.tracking import allocated_devices, assume_caches, gathering, in_flight

SYNC_TIMEOUT_S = 30.0
"""Time limit for the initial list of each informer, in seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerParts:
    """The classes that make up the scheduler; known defects and remedies replace some of them."""

    assume_cache: type[assume_caches.AssumeCache] = assume_caches.AssumeCache
    allocated: type[allocated_devices.AllocatedDevices] = allocated_devices.AllocatedDevices
    in_flight_claims: type[in_flight.InFlightClaims] = in_flight.InFlightClaims
    gatherer: type[gathering.Gatherer] = gathering.Gatherer
    plugin: type[dynamic_resources.DynamicResources] = dynamic_resources.DynamicResources
    claim_binder: type[claim_binding.ClaimBinder] = claim_binding.ClaimBinder
    conditions: type[binding_conditions.BindingConditions] = binding_conditions.BindingConditions
    hints: type[queueing_hints.QueueingHints] = queueing_hints.QueueingHints
    leadership: type[leader_election.Leadership] = leader_election.Leadership
    allocator: type[allocators.Allocator] = allocators.Allocator
    search: type[searches.Search] = searches.Search
    held: type[holdings.Holdings] = holdings.Holdings
    rules: type[capacities.Rules] = capacities.Rules
    slice_tracker: type[slice_trackers.SliceTracker] = slice_trackers.SliceTracker
    queue: type[scheduling_queue.SchedulingQueue] = scheduling_queue.SchedulingQueue
    binders: type[binding_cycle.Binders] = binding_cycle.Binders

    @property
    def new_allocator(self) -> Callable[..., allocators.Allocator]:
        return functools.partial(
            self.allocator, search=self.search, held=self.held, rules=self.rules
        )

    @property
    def is_monotonic(self) -> bool:
        """An allocator that finds nothing finds nothing either when more devices are in use."""
        return self.search.is_monotonic and self.held.is_monotonic


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """Options of the scheduler."""

    scheduler_name: str = "flake-hunt"
    namespace: str | None = None
    """None: all namespaces."""
    binders: int = 0
    """Number of pods that may be bound at the same time; 0: any number, as upstream."""
    idle_binders_max: int = binding_cycle.IDLE_MAX
    """Number of binding threads that wait for the next pods."""
    reserve_by: claim_binding.ReserveBy = "update"
    """How a claim that has an allocation is reserved for one more pod."""
    binding_timeout_s: float = binding_conditions.TIMEOUT_S
    """Seconds from its allocation in which a device with binding conditions has to be ready."""
    backoff_initial_s: float = 1.0
    backoff_max_s: float = 10.0
    search: node_search.SearchOptions = node_search.ALONE
    filter_timeout_s: float = allocators.FILTER_TIMEOUT_S
    """Time limit for the search for devices on one node, in seconds; 0: none."""
    lists_cached: bool = False
    """The first lists may come from a watch cache that lags, as with client-go's reflector without
    WatchListClient."""
    seed: int = 0
    """Seed of PostFilter's choice of the claim to deallocate."""
    taint_rules: bool = False
    """Follow the DeviceTaintRules, if the API server serves them."""
    pod_groups: bool = False
    """Follow the PodGroups, if the API server serves them."""


class Scheduler:
    """A scheduler for the pods whose `schedulerName` is its name."""

    def __init__(
        self,
        api: apis.Api,
        options: SchedulerOptions,
        parts: SchedulerParts | None = None,
        reports: pod_reports.PodReports | None = None,
    ) -> None:
        """`reports` write conditions of pods; None: nothing is written."""
        parts = parts or SchedulerParts()
        self._api, self._options = api, options
        self._reports = reports or pod_reports.PodReports(None)
        allocated = self._allocated = parts.allocated()
        flight = self._in_flight = parts.in_flight_claims()
        self._inventory = inventories.Inventory()
        self._nodes = node_search.NodeList()
        self._queue = parts.queue(
            gate=self._may_enter,
            hints=parts.hints(lambda key: self._cache.get(key)),  # noqa: PLW0108 - made later
            backoff_initial_s=options.backoff_initial_s,
            backoff_max_s=options.backoff_max_s,
        )
        self._extended = class_resolver.ExtendedResources(
            lambda: self._queue.move(cluster_events.ASSIGNED_POD_DELETED)
        )
        slice_events = event_handlers.ObjectEvents(
            self._queue, cluster_events.SLICE, only_spec=True
        )
        self._tracker = parts.slice_tracker([self._inventory, slice_events], self._device_classes)
        claim_events = event_handlers.ObjectEvents(self._queue, cluster_events.CLAIM)
        self._cache = parts.assume_cache([allocated, claim_events])
        self._leadership = parts.leadership(api, self._cache, namespace=options.namespace)
        self._writing_api = self._leadership.writing_api
        self._members = group_members.GroupMembers()
        binder = parts.claim_binder(
            self._writing_api,
            cache=self._cache,
            in_flight_claims=flight,
            activate=self._queue.activate,
            reserve=claim_binding.RESERVE_BY[options.reserve_by],
        )
        self._conditions = parts.conditions(
            self._cache.get,
            timeout_s=options.binding_timeout_s,
        )
        self._plugin = parts.plugin(
            self._writing_api,
            cache=self._cache,
            in_flight_claims=flight,
            gatherer=parts.gatherer(allocated, flight),
            inventory=self._inventory,
            allocator=parts.new_allocator,
            remembers=parts.is_monotonic,
            filter_timeout_s=options.filter_timeout_s,
            classes=self._device_classes,
            choices=random.Random(options.seed),
            binder=binder,
            conditions=self._conditions,
            extended=self._extended,
            groups=lambda key: self._groups.get(key),  # noqa: PLW0108 - made later
            members=self._members,
        )
        self._binders = parts.binders(
            self._writing_api,
            self._plugin,
            limit=options.binders,
            idle_max=options.idle_binders_max,
            reports=self._reports,
            on_failure=self._on_binding_failed,
        )
        self._cycle: scheduling_cycles.SchedulingCycle | None = None
        """None before this scheduler leads."""
        self._make_informers()

    # ------------------------------------------------------------------- life cycle

    def start(self) -> None:
        """Start the informers, then the scheduling thread. Raises ClusterError."""
        self.stand_by()
        self.lead()

    def stand_by(self) -> None:
        """Start the informers, so that all is known when it begins to lead. Raises ClusterError."""
        for informer in self._informers:
            if informer is self._informers[-1] and self._options.pod_groups:
                self._groups.start(timeout_s=SYNC_TIMEOUT_S)
            informer.start()
            informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)
        if self._options.taint_rules:
            self._rule_informer.start(timeout_s=SYNC_TIMEOUT_S)

    def lead(self, holds_lease: Callable[[], bool] | None = None) -> None:
        """Start the scheduling thread, after `stand_by`.

        `holds_lease` returns whether the lease is certainly still held; None: there is no lease.
        Raises ClusterError if the API server does not answer.
        """
        if holds_lease is not None:
            self._leadership.use_lease(holds_lease)
        self._leadership.on_started_leading()
        self._plugin.start()
        self._reports.start()
        self._cycle = scheduling_cycles.SchedulingCycle(
            self._plugin,
            queue=self._queue,
            nodes=self._nodes,
            binders=self._binders,
            reports=self._reports,
            search=node_search.NodeSearch(self._plugin, self._options.search),
        )
        self._cycle.start()

    def stop(self) -> None:
        """Take no more pods, finish the bindings, and end every thread; also while standing by."""
        self._leadership.on_stopped_leading()
        self._queue.close()
        if self._cycle is not None:
            self._cycle.join()
            self._plugin.end_waits()
            self._binders.stop()
            self._plugin.stop()
            self._reports.stop()
        for informer in self._informers:
            informer.stop()
        self._rule_informer.stop()
        self._groups.stop()

    def known_objects(self) -> list[Object]:
        """Return the claims of the assume cache and the pods of the informer."""
        return [*self._cache.objects(), *self._informers[-1].objects()]

    def write_books(self) -> None:
        """Take the steps `scheduler.books.*` after `stop`: what was known of devices and claims."""
        devices, known = self._allocated.get()[0].devices, self._cache.objects()
        in_flight = sorted(claims.uid_of(claim) for claim in self._in_flight.listed())
        concurrency.step("scheduler.books.devices", devices=sorted(devices))
        concurrency.step("scheduler.books.claims", claims=[_entry(claim) for claim in known])
        concurrency.step(
            "scheduler.books", devices=len(devices), claims=len(known), in_flight=in_flight
        )

    def _make_informers(self) -> None:
        """Create the informers; pods come last, after the objects that scheduling them needs."""
        namespace = self._options.namespace
        class_events = event_handlers.ObjectEvents(
            self._queue, cluster_events.DEVICE_CLASS, only_spec=True
        )
        pod_events = event_handlers.PodEvents(
            self._queue, self._reports, scheduler_name=self._options.scheduler_name
        )
        followed: list[tuple[apis.Resource, Sequence[informers.EventHandler]]] = [
            (
                apis.NODES,
                [
                    self._nodes,
                    event_handlers.NodeEvents(self._queue, cluster_events.NODE),
                ],
            ),
            (
                apis.DEVICE_CLASSES,
                [self._extended.resolver, class_events, self._tracker.device_classes],
            ),
            (apis.SLICES, [self._tracker]),
            (apis.CLAIMS, [self._extended.claims, self._cache, self._conditions]),
            (apis.PODS, [self._members, pod_events]),
        ]
        cached = self._options.lists_cached and self._leadership.accepts_cached_lists
        self._informers = [
            informers.Informer(
                self._api,
                resource,
                name=f"informer-{resource.plural}",
                handlers=handlers,
                namespace=namespace if resource.namespaced else None,
                lists_cached=cached,
                trims=True,  # as kube-scheduler does
            )
            for resource, handlers in followed
        ]
        self._rule_informer = served_informers.ServedInformer(
            self._api, taint_rules.VERSIONS, [self._tracker.rules], lists_cached=cached
        )
        group_events = event_handlers.ObjectEvents(self._queue, cluster_events.POD_GROUP)
        self._groups = served_informers.ServedInformer(
            self._api,
            [apis.POD_GROUPS],
            [group_events],
            namespace=namespace,
            lists_cached=cached,
        )

    def _may_enter(self, pod: Object) -> bool:
        reason = self._plugin.pre_enqueue(pod)
        if reason is not None:
            self._reports.failed(pod, pod_reports.UNSCHEDULABLE, reason)
        return reason is None

    def _device_classes(self) -> dict[str, Object]:
        return {item["metadata"]["name"]: item for item in self._informers[1].objects()}

    def _on_binding_failed(self, binding: binding_cycle.Binding, error: Exception) -> None:
        """Retry the pod, and those that waited for what its attempt had reserved."""
        in_use = isinstance(error, scheduling_attempts.ClaimInUseError)
        reason = pod_reports.UNSCHEDULABLE if in_use else pod_reports.SCHEDULER_ERROR
        self._reports.failed(binding.queued.pod, reason, str(error))
        self._queue.failed(
            binding.queued,
            unschedulable=in_use,
            rejectors=[scheduling_attempts.DYNAMIC_RESOURCES],
            freed=True,
        )


def _entry(claim: Object) -> Object:
    results = (claims.allocation_of(claim) or {}).get("devices", {}).get("results", ())
    return {
        "uid": claims.uid_of(claim),
        "version": claim["metadata"]["resourceVersion"],
        "devices": [f"{item['driver']}/{item['pool']}/{item['device']}" for item in results],
    }
