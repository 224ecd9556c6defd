"""Conversion between the versions and groups in which a resource is served.

Each object is stored once, in one version. `inward` converts what a client sent to the stored
version, `outward` converts back. Most versions differ in their `apiVersion` only; in
resource.k8s.io/v1beta1 requests and devices have another structure, and events have two sets of
field names. Unset fields follow the types of the target version.
"""

from collections.abc import Callable

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.registry import resource_strategies
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding
from harness.apiserver.storage import stored_objects

_DRA = "resource.k8s.io"
Converter = Callable[[Document], None]
_EXACT = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""Fields that v1beta1 has in the request and later versions have in its `exactly`."""
_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""Field names of events.k8s.io, mapped to those of the core group."""
_CORE_EVENT_FIELDS = {core: name for name, core in _EVENT_FIELDS.items()}


def inward(
    served: resources.ResourceType, document: Document, *, now: Callable[[], str]
) -> Document:
    """Convert to the stored version and set its default values.

    May change the document in place.
    """
    stored = resources.table_of(served)
    if stored is served:
        return document
    document = _converted(document, _INWARD.get(served), stored)
    resource_strategies.of(stored).default(stored, document, now=now)
    return document


def outward(served: resources.ResourceType, stored: stored_objects.Stored) -> stored_objects.Stored:
    if resources.table_of(served) is served:
        return stored
    document = _converted(stored.document(), _OUTWARD.get(served), served)
    return msgspec.structs.replace(stored, data=json_codec.encode(document))


def _converted(
    document: Document, converter: Converter | None, target: resources.ResourceType
) -> Document:
    if converter is not None:
        converter(document)
    document["apiVersion"], document["kind"] = target.api_version, target.kind
    converted: Document = decoding.read(api_types.of(target), document, decoding.Tally())
    return converted


# ------------------------------------------------------------------ resource.k8s.io/v1beta1


def _nest_claim(document: Document) -> None:
    for request in _requests(document):
        if exactly := {key: request.pop(key) for key in _EXACT if key in request}:
            request["exactly"] = exactly


def _flatten_claim(document: Document) -> None:
    for request in _requests(document):
        request.update(request.pop("exactly", None) or {})


def _requests(document: Document) -> list[Document]:
    spec = document.get("spec") or {}
    devices = (spec.get("spec") or spec).get("devices") or {}
    return devices.get("requests") or []


def _flatten_slice(document: Document) -> None:
    for device in _devices(document):
        device.update(device.pop("basic", None) or {})


def _nest_slice(document: Document) -> None:
    for device in _devices(document):
        basic = {key: device.pop(key) for key in list(device) if key != "name"}
        device["basic"] = basic


def _devices(document: Document) -> list[Document]:
    return (document.get("spec") or {}).get("devices") or []


# ------------------------------------------------------------------ events


def _rename(names: dict[str, str]) -> Converter:
    def rename(document: Document) -> None:
        for old, new in names.items():
            if old in document:
                document[new] = document.pop(old)

    return rename


_INWARD: dict[resources.ResourceType, Converter] = {
    resources.NEW_EVENTS: _rename(_EVENT_FIELDS),
    resources.optional(_DRA, "v1beta1", "resourceclaims"): _nest_claim,
    resources.optional(_DRA, "v1beta1", "resourceclaimtemplates"): _nest_claim,
    resources.optional(_DRA, "v1beta1", "resourceslices"): _flatten_slice,
}
_OUTWARD: dict[resources.ResourceType, Converter] = {
    resources.NEW_EVENTS: _rename(_CORE_EVENT_FIELDS),
    resources.optional(_DRA, "v1beta1", "resourceclaims"): _flatten_claim,
    resources.optional(_DRA, "v1beta1", "resourceclaimtemplates"): _flatten_claim,
    resources.optional(_DRA, "v1beta1", "resourceslices"): _nest_slice,
}
