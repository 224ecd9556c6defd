"""Resource claims and their templates, resource slices, and rules that taint devices.

After the strategies in k8s.io/kubernetes/pkg/registry/resource.
"""

from collections.abc import Callable, Iterable, Iterator

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.storage import stored_objects
from harness.apiserver.validation import claims, slices

_NODE_RESOURCES = "nodeAllocatableResourceMappings"
"""Field of a device of the gate DRANodeAllocatableResources."""


class ClaimStrategy(generic.Strategy):
    """Resource claims, of which a write of the status changes the status only, and templates."""

    metadata_kept_by_status = generic.USER_METADATA
    reset_by_status = ("metadata",)

    def keep_unwritable(self, document: Document, old: Document, subresource: str) -> None:
        """Drop the reports on devices that a write of the status deallocates."""
        super().keep_unwritable(document, old, subresource)
        status = document.get("status") or {}
        if subresource == "status" and (reports := status.get("devices")):
            now, before = (
                set(map(claims.device_key, claims.results_of(c))) for c in (document, old)
            )
            kept = [item for item in reports if claims.device_key(item) not in before - now]
            generic.set_or_drop(status, "devices", kept)

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Normalize `requests: []` to null.

        managedFields tracks the empty list, storage omits it (`omitempty`).
        """
        spec = document.get("spec") or {}
        devices = (spec.get("spec") or spec).get("devices") or {}
        if devices.get("requests") == []:
            devices["requests"] = None

    def errors(
        self, document: Document, served: resources.ResourceType, labels: generic.Labels
    ) -> Iterator[Cause]:
        """Allow `adminAccess` only in namespaces with the label for it."""
        yield from _unless_admin(claims.admin_request(document), labels)
        yield from super().errors(document, served, labels)

    def update_errors(
        self, document: Document, old: Document, subresource: str, labels: generic.Labels
    ) -> Iterator[Cause]:
        """Allow allocations with `adminAccess` only in namespaces with the label for it."""
        if subresource == "status":
            yield from _unless_admin(claims.admin_result(document, old), labels)
        yield from super().update_errors(document, old, subresource, labels)


def _unless_admin(causes: Iterable[Cause], labels: generic.Labels) -> Iterable[Cause]:
    """Return the errors unless the namespace allows admin access to devices."""
    found = list(causes)
    return found if found and not claims.is_admin_namespace(labels()) else ()


class TaintRuleStrategy(generic.Strategy):
    """Rules that taint devices."""

    metadata_kept_by_status = generic.USER_METADATA

    def default(
        self, served: resources.ResourceType, document: Document, *, now: Callable[[], str]
    ) -> None:
        """Set `timeAdded` of the taint as well; other versions get it after the conversion."""
        super().default(served, document, now=now)
        if served is self.resource:
            _set_time_added([document["spec"]["taint"]], now)


def _set_time_added(taints: Iterable[Document], now: Callable[[], str]) -> None:
    """Set the time of taints that do not have one, in place."""
    for taint in taints:
        if taint.get("timeAdded") is None:
            taint["timeAdded"] = now()


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
                _set_time_added(device.get("taints") or (), now)

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of DRANodeAllocatableResources, and of DRAListTypeAttributes if it is off."""
        stored = _devices(old or {})
        is_on = feature_gates.is_on(feature_gates.LIST_ATTRIBUTES)
        keeps_lists = is_on or any(slices.has_list(device) for device in stored)
        keeps_resources = any(_NODE_RESOURCES in device for device in stored)
        for device in _devices(document):
            if not keeps_resources:
                device.pop(_NODE_RESOURCES, None)
            if not keeps_lists and slices.has_list(device):
                for attribute in device["attributes"].values():
                    for key in slices.LIST_VALUES:
                        attribute.pop(key, None)

    def warnings(self, stored: stored_objects.Stored) -> Iterable[str]:
        return slices.warnings(stored.document())


def drop_empty_devices(document: Document) -> None:
    """Drop an empty list of devices, in place; beside shared counters validation rejects it."""
    spec = document.get("spec") or {}
    if not spec.get("devices") and not spec.get("sharedCounters"):
        spec.pop("devices", None)


def _devices(document: Document) -> list[Document]:
    return (document.get("spec") or {}).get("devices") or []
