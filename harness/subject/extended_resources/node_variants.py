"""The claim for extended resources of one attempt, as each node needs it.

After filterExtendedResources in extendeddynamicresources.go. The claim does not request
resources that the node's device plugin offers, so that two nodes may need different requests. Nodes
that need the same ones share a variant and its allocator.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from harness import concurrency
from harness.model.objects import Object
from harness.subject.allocation import allocators
from harness.subject.extended_resources import class_resolver, extended_claims, plugin_devices


@dataclasses.dataclass(frozen=True, slots=True)
class _Container:
    """A container and its index among init containers and containers."""

    index: int
    spec: Object
    is_short_lived: bool

    def request_name(self, resource: str) -> str:
        """Return the name of its request: with its index, and that of the resource in it."""
        names = sorted(self.spec["resources"]["requests"])
        return f"container-{self.index}-request-{names.index(resource)}"

    def mapping(self, resource: str, request: str) -> Object:
        """Return the entry that lets it use the devices of a request."""
        return {
            "containerName": self.spec["name"],
            "resourceName": resource,
            "requestName": request,
        }


@dataclasses.dataclass(slots=True)
class _Requests:
    """The requests for one resource, and the containers that use them."""

    resource: str
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    """Devices by name of the request."""
    _lasting: dict[str, int] = dataclasses.field(default_factory=dict)
    """Index of the container by name of the request, of those that run until the end."""
    _uses: list[tuple[_Container, str]] = dataclasses.field(default_factory=list)
    """A container, and the name of a request; empty: the request that init containers share."""
    _shared: str = ""

    def add_lasting(self, container: _Container, amount: int) -> None:
        """Give a container that runs until the end a request of its own."""
        name = container.request_name(self.resource)
        self.counts[name], self._lasting[name] = amount, container.index
        self._uses.append((container, name))

    def add_short_lived(self, wants: Iterable[tuple[_Container, int]]) -> None:
        """Let init containers use what later ones have, and share one request for the rest."""
        missing = [(self._reuse(container, amount), container) for container, amount in wants]
        count, largest = max(missing, key=lambda item: item[0], default=(0, None))
        if largest is not None and count > 0:
            self._shared = largest.request_name(self.resource)
            self.counts[self._shared] = count

    def mappings(self) -> Iterator[Object]:
        """Yield the entries that let containers use the devices of requests."""
        for container, request in self._uses:
            yield container.mapping(self.resource, request or self._shared)

    def _reuse(self, container: _Container, amount: int) -> int:
        """Let an init container use the devices of later ones; return how many are missing."""
        for name, index in self._lasting.items():
            if amount > 0 and index >= container.index:
                self._uses.append((container, name))
                amount -= self.counts[name]
        if amount > 0:
            self._uses.append((container, ""))
        return amount


def of_pod(
    pod: Object, classes: Mapping[str, str], resources: Collection[str]
) -> tuple[list[Object], list[Object]]:
    """Return the device requests by name, and the `requestMappings` of the pod's status.

    `classes` maps each of the resources to the name of its DeviceClass.
    """
    containers = list(_containers(pod))
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource in sorted(resources):
        made = _requests(resource, containers)
        requests += [
            _device_request(name, classes[resource], count) for name, count in made.counts.items()
        ]
        mappings += made.mappings()
    return sorted(requests, key=lambda request: str(request["name"])), mappings


def _requests(resource: str, containers: Iterable[_Container]) -> _Requests:
    wants = [
        (container, amount)
        for container in containers
        if (amount := plugin_devices.of_container(container.spec).get(resource))
    ]
    made = _Requests(resource)
    for container, amount in wants:
        if not container.is_short_lived:
            made.add_lasting(container, amount)
    made.add_short_lived((item, amount) for item, amount in wants if item.is_short_lived)
    return made


def _containers(pod: Object) -> Iterator[_Container]:
    init = pod["spec"].get("initContainers") or []
    for index, container in enumerate([*init, *pod["spec"]["containers"]]):
        is_short_lived = index < len(init) and not plugin_devices.is_sidecar(container)
        yield _Container(index, container, is_short_lived)


def _device_request(name: str, device_class: str, count: int) -> Object:
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly}


AllocatorOf = Callable[[Object], allocators.Allocator]
"""Makes an allocator for the pod's own claims and the given one, which comes last."""


@dataclasses.dataclass(frozen=True, slots=True)
class Variant:
    """The claim with the requests that some nodes need."""

    resources: frozenset[str]
    claim: Object
    mappings: list[Object]
    """The `requestMappings` of the pod's status."""
    allocator: allocators.Allocator


class NodeVariants:
    """The variants of one attempt; used by several Filter threads."""

    def __init__(
        self, pod: Object, claim: Object, demand: class_resolver.Demand, allocator_of: AllocatorOf
    ) -> None:
        self._pod, self._claim, self._demand = pod, claim, demand
        self._allocator_of = allocator_of
        self._guard = concurrency.lock("node-variants")
        self._variants: dict[frozenset[str], Variant] = {}
        """Variants by the resources that the claim requests."""

    def of_node(self, node: Object) -> Variant | None:
        """Return what the node needs; None: its device plugins offer every resource.

        Raises AllocationError if the claim cannot be allocated on any node.
        """
        resources = frozenset(
            name for name in self._demand.classes if not plugin_devices.allocatable(node, name)
        )
        if not resources:
            return None
        with self._guard:
            if resources not in self._variants:
                self._variants[resources] = self._make(resources)
            return self._variants[resources]

    def widest(self) -> Variant:
        """Return the variant with all resources, whose requests contain those of any other.

        Called before any Filter thread starts. Raises AllocationError as `of_node` does.
        """
        resources = frozenset(self._demand.classes)
        if resources not in self._variants:
            self._variants[resources] = self._make(resources)
        return self._variants[resources]

    def _make(self, resources: frozenset[str]) -> Variant:
        requests, mappings = of_pod(self._pod, self._demand.classes, resources)
        claim = extended_claims.with_requests(self._claim, requests)
        return Variant(resources, claim, mappings, self._allocator_of(claim))
