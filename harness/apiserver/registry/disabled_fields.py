"""What is dropped before an object is stored: fields of feature gates that are off by default in Kubernetes 1.36, and reports on devices
that a claim no longer has.
"""

from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import claim_status

_LIST_ATTRIBUTES = ("bools", "ints", "strings", "versions")
"""Of the gate DRAListTypeAttributes."""
_NODE_RESOURCES = "nodeAllocatableResourceMappings"
"""Of the gate DRANodeAllocatableResources."""
_SCHEDULING_GROUP = "schedulingGroup"
"""Of the gate GenericWorkload."""
_NODE_CLAIMS = "nodeAllocatableResourceClaimStatuses"
"""Of the gate DRANodeAllocatableResources as well."""
_ELECTION = ("strategy", "preferredHolder")
"""Of the gate CoordinatedLeaderElection."""


def drop_disabled(
    resource: resources.ResourceType, document: Document, old: Document | None = None
) -> None:
    """Fields of gates that are off, in place; what is stored already stays."""
    if resource is resources.SLICES:
        _drop_from_slice(document, old)
    elif resource is resources.LEASES:
        _drop_from_lease(document, old)
    elif resource is resources.PODS:
        _drop_new(document, old, "spec", _SCHEDULING_GROUP)
        _drop_new(document, old, "status", _NODE_CLAIMS)
    elif resource is resources.CLAIMS:
        _drop_empty_requests(document.get("spec") or {})
    elif resource is resources.CLAIM_TEMPLATES:
        _drop_empty_requests((document.get("spec") or {}).get("spec") or {})


def _drop_empty_requests(spec: Document) -> None:
    """An empty list has an owner, but once it is stored it is none."""
    devices = spec.get("devices") or {}
    if devices.get("requests") == []:
        devices["requests"] = None


def _drop_from_lease(document: Document, old: Document | None) -> None:
    for key in _ELECTION:
        _drop_new(document, old, "spec", key)


def _drop_new(document: Document, old: Document | None, part: str, key: str) -> None:
    """A field of a part goes unless the object has had it before."""
    if key not in ((old or {}).get(part) or {}):
        (document.get(part) or {}).pop(key, None)


def _drop_from_slice(document: Document, old: Document | None) -> None:
    stored = _devices(old or {})
    keeps_lists = any(_has_list_attribute(device) for device in stored)
    keeps_resources = any(_NODE_RESOURCES in device for device in stored)
    for device in _devices(document):
        if not keeps_resources:
            device.pop(_NODE_RESOURCES, None)
        if not keeps_lists and _has_list_attribute(device):
            _drop_list_attributes(device)


def drop_empty_devices(document: Document) -> None:
    """An empty list of devices is none, in place; beside counters it stays, and will be refused."""
    spec = document.get("spec") or {}
    if not spec.get("devices") and not spec.get("sharedCounters"):
        spec.pop("devices", None)


def drop_stale_reports(claim: Document, old: Document) -> None:
    """What drivers reported of devices that the claim had and has no longer, in place."""
    status = claim.get("status") or {}
    reports = status.get("devices")
    if not reports:
        return
    kept, had = _allocated(claim), _allocated(old)
    if gone := had - kept:
        status["devices"] = [item for item in reports if claim_status.device_key(item) not in gone]
        if not status["devices"]:
            del status["devices"]


def _devices(document: Document) -> list[Document]:
    return (document.get("spec") or {}).get("devices") or []


def _allocated(claim: Document) -> set[tuple[str, ...]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return {claim_status.device_key(result) for result in results}


def _has_list_attribute(device: Document) -> bool:
    attributes = (device.get("attributes") or {}).values()
    return any(key in (attribute or ()) for attribute in attributes for key in _LIST_ATTRIBUTES)


def _drop_list_attributes(device: Document) -> None:
    for attribute in device["attributes"].values():
        for key in _LIST_ATTRIBUTES:
            attribute.pop(key, None)
