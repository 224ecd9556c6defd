"""ResourceSlices. After k8s.io/kubernetes/pkg/registry/resource/resourceslice/strategy.go."""

from collections.abc import Callable, Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic, taint_rules
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects
from harness.apiserver.validation.dra import resource_slices, slice_devices

_NODE_RESOURCES = "nodeAllocatableResourceMappings"
"""Field of a device of the gate DRANodeAllocatableResources."""


class SliceStrategy(generic.Strategy):
    """Resource slices."""

    def default(
        self, served: resources.ResourceType, document: Document, *, now: Callable[[], str]
    ) -> None:
        """Set `timeAdded` of taints as well; other versions get it after the conversion."""
        super().default(served, document, now=now)
        if served is self.resource:
            drop_empty_devices(document)
            for device in _devices(document):
                taint_rules.set_time_added(device.get("taints") or (), now)

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of DRANodeAllocatableResources, and of DRAListTypeAttributes if it is off."""
        stored = _devices(old or {})
        is_on = feature_gates.is_on(feature_gates.LIST_ATTRIBUTES)
        keeps_lists = is_on or any(slice_devices.has_list(device) for device in stored)
        keeps_resources = any(_NODE_RESOURCES in device for device in stored)
        for device in _devices(document):
            if not keeps_resources:
                device.pop(_NODE_RESOURCES, None)
            if not keeps_lists and slice_devices.has_list(device):
                for attribute in device["attributes"].values():
                    for key in slice_devices.LIST_VALUES:
                        attribute.pop(key, None)

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the pool, the devices and their counters."""
        return resource_slices.device_slice(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the pool, the devices and their counters."""
        return resource_slices.device_slice(document, old)

    def warnings(self, stored: stored_objects.Stored) -> Iterable[str]:
        """Return the warnings of `resource_slices`."""
        return resource_slices.warnings(stored.document())


def drop_empty_devices(document: Document) -> None:
    """Drop an empty list of devices, in place; beside shared counters validation rejects it."""
    spec = document.get("spec") or {}
    if not spec.get("devices") and not spec.get("sharedCounters"):
        spec.pop("devices", None)


def _devices(document: Document) -> list[Document]:
    return (document.get("spec") or {}).get("devices") or []
