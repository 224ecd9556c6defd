"""Decides a recorded case as the scheduler does, inside the test's process.

The real plugin, tracker and inventory, without threads and without an API server: each pod goes
through PreFilter, Filter and Score of the nodes, and Reserve, and its claims are allocated as
planned, before the next one comes. So the outcome depends on nothing but the scheduler.
"""

import json
import random
from typing import Any

from harness.client import apis
from harness.subject import assembling
from harness.subject.allocation import inventories
from harness.subject.extended_resources import class_resolver, extended_claims
from harness.subject.objects import claims, nodes
from harness.subject.plugin import binding_conditions, scheduling_attempts
from harness.subject.scheduling import assigned_pods, node_orders, node_search
from harness.subject.tracking import assume_caches, in_flight
from tests.support import local_servers

Object = dict[str, Any]
PREFIX = "fk-case-"
"""Like those of the recording, it comes after `deviceclass.resource.kubernetes.io`."""
NAMESPACE = "case-ns"


class Case:
    """One case in a cluster of its own."""

    def __init__(self, recorded: Object, release: str | None = None) -> None:
        """`release`: that of `--as`; None: the default."""
        self._case = json.loads(json.dumps(recorded).replace("{{p}}", PREFIX))
        parts = assembling.parts(release=release)
        allocated, self._flight = parts.allocated(), in_flight.InFlightClaims()
        self._extended = class_resolver.ExtendedResources()
        self._cache: assume_caches.AssumeCache = parts.assume_cache([allocated])
        self._inventory = inventories.Inventory()
        self._classes: dict[str, Object] = {}
        self._tracker = parts.slice_tracker([self._inventory], lambda: self._classes)
        api = apis.Api(local_servers.LocalServer())
        binder = parts.claim_binder(
            api, cache=self._cache, in_flight_claims=self._flight, activate=lambda _: None
        )
        self._plugin = parts.plugin(
            api,
            cache=self._cache,
            in_flight_claims=self._flight,
            gatherer=parts.gatherer(allocated, self._flight),
            inventory=self._inventory,
            allocator=parts.allocator,
            classes=lambda: self._classes,
            choices=random.Random(1),
            binder=binder,
            conditions=binding_conditions.BindingConditions(self._cache.get),
            extended=self._extended,
        )
        self._assigned = assigned_pods.AssignedPods()
        self._search = node_search.NodeSearch(
            self._plugin, order=node_orders.BestFirst(self._assigned)
        )

    def decide(self) -> Object:
        """Return the outcome in the form of the recording."""
        self._create_cluster()
        outcome = {pod["metadata"]["name"]: self._decide_pod(pod) for pod in self._case["pods"]}
        filled = json.dumps({"pods": outcome})
        return json.loads(filled.replace(NAMESPACE, "{{ns}}").replace(PREFIX, "{{p}}"))

    def _create_cluster(self) -> None:
        case = self._case
        self._nodes = sorted(
            case["nodes"], key=lambda node: nodes.natural_order(node["metadata"]["name"])
        )
        for node in self._nodes:
            self._assigned.groups.on_add(node, initial=True)
        self._classes |= {obj["metadata"]["name"]: obj for obj in case["classes"]}
        for obj in case["classes"]:
            self._extended.resolver.on_add(obj, initial=True)
        for obj in case.get("taintRules", ()):
            self._tracker.rules.on_add(_stored(obj), initial=True)
        for obj in case["slices"]:
            self._tracker.on_add(_stored(obj), initial=True)
        for obj in case["claims"]:
            _set_defaults(obj)
            self._cache.on_add(_stored(obj), initial=True)

    def _decide_pod(self, raw: Object) -> Object:
        try:
            attempt = self._plugin.pre_filter(_stored(raw))
            node = self._node_for(attempt)
        except scheduling_attempts.Unschedulable as reason:
            return {"unschedulable": str(reason)}
        except scheduling_attempts.AttemptError as error:
            return {"unschedulable": str(error), "reason": "SchedulerError"}
        outcome: dict[str, Any] = {"node": node, "claims": self._allocate(attempt)}
        if attempt.variant is not None:
            outcome["extendedResourceMappings"] = attempt.variant.mappings
        return outcome

    def _node_for(self, attempt: scheduling_attempts.Attempt) -> str:
        """Reserve devices on the best node, the first of equals; raises Unschedulable."""
        found = self._search.find(attempt, self._nodes)
        if found is None:
            raise scheduling_attempts.Unschedulable(attempt.explanation())
        name = str(found[0]["metadata"]["name"])
        self._assigned.assume(attempt.pod, name)
        self._plugin.reserve(attempt, *found)
        return name

    def _allocate(self, attempt: scheduling_attempts.Attempt) -> Object:
        """Allocate the pod's claims as planned; return the allocations by name of the claim."""
        for index, allocation in attempt.planned.items():
            claim = attempt.claims[index]
            attempt.claims[index] = claims.with_status(claim, allocation=allocation)
            stored = claims.with_metadata(
                attempt.claims[index], name=_stored_name(claim), resourceVersion="2"
            )
            self._cache.on_update(claim, stored)
            self._flight.remove(claims.uid_of(claim))
        return {_shown_name(claim): claims.allocation_of(claim) for claim in attempt.claims}


def _stored_name(claim: Object) -> str:
    """Return the claim's name once it is created."""
    meta = claim["metadata"]
    return str(meta["generateName"] if extended_claims.is_in_memory(claim) else meta["name"])


def _shown_name(claim: Object) -> str:
    """Return the claim's name in recordings."""
    is_in_memory = extended_claims.is_in_memory(claim)
    return "extended-resources" if is_in_memory else str(claim["metadata"]["name"])


def _set_defaults(claim: Object) -> None:
    """Set what the API server sets: the operator of a toleration."""
    for request in claim["spec"]["devices"].get("requests") or ():
        for option in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            for toleration in option.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


def _stored(obj: Object) -> Object:
    """Return an object as the API server returns it."""
    name = obj["metadata"]["name"]
    return claims.with_metadata(
        obj, namespace=NAMESPACE, uid=f"{obj['kind']}-{name}", resourceVersion="1"
    )
