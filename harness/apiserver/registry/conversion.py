"""Conversion between the versions and groups in which a resource is served.

Each object is stored once, in one version. `inward` converts what a client sent to the stored
version, `outward` converts back. The versions of resource.k8s.io differ in their `apiVersion` only;
events have two sets of field names. Unset fields follow the types of the target version.
"""

from collections.abc import Callable, Mapping

import msgspec

from harness.apiserver import json_codec
from harness.apiserver.json_codec import Document
from harness.apiserver.registry import resource_strategies
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding
from harness.apiserver.storage import stored_objects

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
    renamed = _EVENT_FIELDS if served is resources.NEW_EVENTS else {}
    document = _converted(document, stored, renamed)
    resource_strategies.of(stored).default(stored, document, now=now)
    return document


def outward(served: resources.ResourceType, stored: stored_objects.Stored) -> stored_objects.Stored:
    if resources.table_of(served) is served:
        return stored
    renamed = _CORE_EVENT_FIELDS if served is resources.NEW_EVENTS else {}
    document = _converted(stored.document(), served, renamed)
    return msgspec.structs.replace(stored, data=json_codec.encode(document))


def _converted(
    document: Document, target: resources.ResourceType, renamed: Mapping[str, str]
) -> Document:
    for old, new in renamed.items():
        if old in document:
            document[new] = document.pop(old)
    document["apiVersion"], document["kind"] = target.api_version, target.kind
    converted: Document = decoding.read(api_types.of(target), document)
    return converted
