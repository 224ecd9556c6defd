"""A scheduler without threads and without an API server: what it decides depends on nothing else.

The real plugin, tracker and inventory. Each pod goes through PreFilter, Filter and Score of the
nodes, and Reserve, and its claims are allocated as planned, before the next one comes.
"""

import random
from collections.abc import Mapping
from typing import Any

from harness.client import apis
from harness.subject import assembling
from harness.subject.allocation import inventories
from harness.subject.extended_resources import class_resolver, extended_claims
from harness.subject.objects import claims, nodes
from harness.subject.plugin import binding_conditions, scheduling_attempts
from harness.subject.scheduling import node_search, schedulers
from harness.subject.tracking import assume_caches, in_flight
from tests.support import local_servers

Object = dict[str, Any]


class LoneScheduler:
    """One scheduler, and what it knows of its cluster."""

    def __init__(self, parts: schedulers.SchedulerParts | None = None) -> None:
        """`parts` None: those of the default subject."""
        parts = parts or assembling.parts()
        allocated, self._flight = parts.allocated(), in_flight.InFlightClaims()
        self.extended = class_resolver.ExtendedResources()
        self.cache: assume_caches.AssumeCache = parts.assume_cache([allocated])
        inventory = inventories.Inventory()
        self.classes: dict[str, Object] = {}
        self.tracker = parts.slice_tracker([inventory], lambda: self.classes)
        api = apis.Api(local_servers.LocalServer())
        binder = parts.claim_binder(
            api, cache=self.cache, in_flight_claims=self._flight, activate=lambda _: None
        )
        self._plugin = parts.plugin(
            api,
            cache=self.cache,
            in_flight_claims=self._flight,
            gatherer=parts.gatherer(allocated, self._flight),
            inventory=inventory,
            allocator=parts.new_allocator,
            remembers=parts.is_monotonic,
            classes=lambda: self.classes,
            choices=random.Random(1),
            binder=binder,
            conditions=binding_conditions.BindingConditions(self.cache.get),
            extended=self.extended,
        )
        self._nodes: list[Object] = []
        self._search = node_search.NodeSearch(self._plugin)

    def add_node(self, node: Object) -> None:
        self._nodes.append(node)
        self._nodes.sort(key=lambda item: nodes.natural_order(item["metadata"]["name"]))

    def add_class(self, device_class: Object) -> None:
        self.classes[device_class["metadata"]["name"]] = device_class
        self.extended.resolver.on_add(device_class, initial=True)

    def decide(self, pod: Object) -> tuple[scheduling_attempts.Attempt, str]:
        """Schedule a pod and allocate its claims; return the attempt and the name of its node.

        Raises Unschedulable or AttemptError.
        """
        attempt = self._plugin.pre_filter(pod)
        name = self._node_for(attempt)
        self._allocate(attempt)
        return attempt, name

    def _node_for(self, attempt: scheduling_attempts.Attempt) -> str:
        """Reserve devices on the best node, the first of equals; raises Unschedulable."""
        found = self._search.find(attempt, self._nodes)
        if found is None:
            raise scheduling_attempts.Unschedulable(attempt.explanation())
        name = str(found[0]["metadata"]["name"])
        self._plugin.reserve(attempt, *found)
        return name

    def _allocate(self, attempt: scheduling_attempts.Attempt) -> None:
        for index, allocation in attempt.planned.items():
            claim = attempt.claims[index]
            attempt.claims[index] = claims.with_status(claim, allocation=allocation)
            stored = claims.with_metadata(
                attempt.claims[index], name=_stored_name(claim), resourceVersion="2"
            )
            self.cache.on_update(claim, stored)
            self._flight.remove(claims.uid_of(claim))


def allocations(attempt: scheduling_attempts.Attempt) -> Mapping[str, Object | None]:
    """Return the allocations of the pod's claims, by name of the claim."""
    return {_shown_name(claim): claims.allocation_of(claim) for claim in attempt.claims}


def _stored_name(claim: Object) -> str:
    """Return the claim's name once it is created."""
    meta = claim["metadata"]
    return str(meta["generateName"] if extended_claims.is_in_memory(claim) else meta["name"])


def _shown_name(claim: Object) -> str:
    """Return the claim's name in recordings."""
    is_in_memory = extended_claims.is_in_memory(claim)
    return "extended-resources" if is_in_memory else str(claim["metadata"]["name"])
