"""The scheduler's plugin with real parts and a real store, without threads of its own."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from harness.client import apis, transports
from harness.subject.allocation import inventories
from harness.subject.extended_resources import class_resolver
from harness.subject.plugin import binding_conditions, claim_binding, scheduling_attempts
from harness.subject.scheduling import schedulers
from tests.support import api_objects, local_servers

Object = dict[str, Any]
GPU = "example.com/gpu"
FAILURES = (scheduling_attempts.BindingError, apis.ApiError, transports.TransportError)


class World:
    """A plugin with its parts, one node with devices, and a server."""

    def __init__(
        self,
        server: local_servers.LocalServer,
        parts: schedulers.SchedulerParts | None = None,
        devices: Sequence[str] = ("a", "b"),
        reserve_by: claim_binding.ReserveBy = "update",
        binding_timeout_s: float = binding_conditions.TIMEOUT_S,
    ) -> None:
        parts = parts or schedulers.SchedulerParts()
        self.server, self.api = server, apis.Api(server)
        self.allocated = parts.allocated()
        self.flight = parts.in_flight_claims()
        self.extended = class_resolver.ExtendedResources(lambda: self.activated.append("all"))
        self.cache = parts.assume_cache([self.allocated])
        self.gatherer = parts.gatherer(self.allocated, self.flight)
        self.inventory = inventories.Inventory()
        self.inventory.on_add(api_objects.slice_of(*devices), initial=True)
        self.activated: list[str] = []
        """Claims whose pods were to be retried."""
        self.classes = {api_objects.CLASS: api_objects.device_class()}
        self.binder = parts.claim_binder(
            self.api,
            cache=self.cache,
            in_flight_claims=self.flight,
            activate=self.activated.append,
            reserve=claim_binding.RESERVE_BY[reserve_by],
        )
        self.conditions = parts.conditions(
            self.cache.get,
            timeout_s=binding_timeout_s,
        )
        """Pods that have to wait, and their nodes."""
        self.plugin = parts.plugin(
            self.api,
            cache=self.cache,
            in_flight_claims=self.flight,
            gatherer=self.gatherer,
            inventory=self.inventory,
            classes=lambda: self.classes,
            choices=random.Random(1),
            binder=self.binder,
            conditions=self.conditions,
            extended=self.extended,
            allocator=parts.new_allocator,
            remembers=parts.is_monotonic,
        )

    def claim(self, name: str, **more: Any) -> Object:
        stored = local_servers.put(self.server, apis.CLAIMS, api_objects.claim(name, **more))
        self.cache.on_add(stored, initial=False)
        return stored

    def pod(self, name: str = "p", *use: str) -> Object:
        return self.api.create(
            apis.PODS, api_objects.pod(name, use=use or ("c",)), namespace="default"
        )

    def reserved(self, pod: Object) -> scheduling_attempts.Attempt:
        """An attempt as far as its Reserve."""
        attempt = self.plugin.pre_filter(pod)
        allocations = self.plugin.filter(attempt, api_objects.node())
        assert allocations is not None
        self.plugin.reserve(attempt, api_objects.node(), allocations)
        return attempt

    def schedule(self, pod: Object) -> None:
        """Schedule a pod as far as its PreBind, if the node has devices for it."""
        attempt = self.plugin.pre_filter(pod)
        allocations = self.plugin.filter(attempt, api_objects.node())
        if allocations is not None:
            self.plugin.reserve(attempt, api_objects.node(), allocations)
            self.plugin.pre_bind(attempt)

    def fail_to_bind(self, attempt: scheduling_attempts.Attempt) -> Exception:
        """Return the exception of PreBind, after Unreserve."""
        with pytest.raises(FAILURES) as caught:
            self.plugin.pre_bind(attempt)
        self.plugin.unreserve(attempt)
        return caught.value

    def stored(self, name: str = "c") -> Object:
        return self.api.get(apis.CLAIMS, name, namespace="default")

    def see(self, name: str = "c") -> None:
        stored = self.stored(name)
        self.cache.on_update({}, stored)
        self.conditions.on_update({}, stored)


class ExtendedWorld(World):
    """A world whose class backs an extended resource."""

    def __init__(
        self, server: local_servers.LocalServer, parts: schedulers.SchedulerParts | None = None
    ) -> None:
        super().__init__(server, parts)
        klass = api_objects.device_class()
        klass["spec"]["extendedResourceName"] = GPU
        self.extended.resolver.on_add(klass, initial=True)

    def wanting(self, name: str = "p", amount: int = 1, **more: Any) -> Object:
        made = api_objects.pod(name, **more)
        made["spec"]["containers"][0]["resources"] = {"limits": {GPU: str(amount)}}
        return self.api.create(apis.PODS, made, namespace="default")

    def created(self) -> list[Object]:
        return self.api.list(apis.CLAIMS, namespace="default").items

    def deliver(self) -> None:
        for claim in self.created():
            self.extended.claims.on_add(claim, initial=False)
            self.cache.on_update({}, claim)

    def status(self, pod: str = "p") -> Object | None:
        stored = self.api.get(apis.PODS, pod, namespace="default")
        found: Object | None = stored["status"].get("extendedResourceClaimStatus")
        return found
