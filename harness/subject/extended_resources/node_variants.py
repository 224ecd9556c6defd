"""The claim for extended resources of one attempt, as each node needs it.

After filterExtendedResources in extendeddynamicresources.go. The claim does not request
resources that the node's device plugin offers, so that two nodes may need different requests. Nodes
that need the same ones share a variant and its allocator.
"""

import dataclasses
from collections.abc import Callable

from harness import concurrency
from harness.model.objects import Object
from harness.subject.allocation import allocators
from harness.subject.extended_resources import (
    demands,
    extended_claims,
    plugin_devices,
    request_mappings,
)

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
        self, pod: Object, claim: Object, demand: demands.Demand, allocator_of: AllocatorOf
    ) -> None:
        """`claim` was made in memory for the pod."""
        self._pod, self._claim, self._demand = pod, claim, demand
        self._allocator_of = allocator_of
        self._guard = concurrency.lock("node-variants")
        self._variants: dict[frozenset[str], Variant] = {}
        """By the resources that are requested by the claim."""

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
        requests, mappings = request_mappings.of_pod(self._pod, self._demand.classes, resources)
        claim = extended_claims.with_requests(self._claim, requests)
        return Variant(resources, claim, mappings, self._allocator_of(claim))
