"""The extended resources that a pod asks for, and the objects that decide where it gets them."""

import dataclasses
from collections.abc import Callable, Mapping

from harness.model.objects import Object
from harness.subject.extended_resources import (
    class_resolver,
    extended_claims,
    plugin_devices,
    resource_amounts,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """The extended resources of one pod; empty for most pods."""

    amounts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts by resource, without zeros."""
    classes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Name of the DeviceClass by resource, of those that a class backs."""


class ExtendedResources:
    """Classes, claims and pods, as far as they concern extended resources."""

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        """`on_freed()` is called when pods that wait for an extended resource may go on."""
        self.resolver = class_resolver.DeviceClassResolver()
        self.claims = extended_claims.ExtendedClaimIndex(on_freed)
        self.plugin_devices = plugin_devices.PluginDevices(on_freed)

    def demand(self, pod: Object) -> Demand:
        """Return what the pod asks for, with the classes as they are now."""
        amounts = resource_amounts.of_pod(pod)
        found = {name: self.resolver.device_class(name) for name in amounts}
        classes = {
            name: str(item["metadata"]["name"]) for name, item in found.items() if item is not None
        }
        return Demand(amounts, classes)

    def claim_for(self, pod: Object, demand: Demand) -> Object | None:
        """Return the claim that an earlier attempt left, or a new one in memory.

        None: no class backs what the pod asks for.
        """
        if not demand.classes:
            return None
        return self.claims.of_pod(pod) or extended_claims.in_memory(pod)

    def refusal(self, demand: Demand, node: Object) -> str | None:
        """Return why the node's device plugins have too little for the pod; None if not."""
        return self.plugin_devices.refusal(demand.amounts, demand.classes, node)
