"""Events of the core group and of events.k8s.io."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import object_names
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

TEXT_MAX = 128
"""Bytes of `action`, `reason` and `reportingInstance`."""
MESSAGE_MAX = 1024
"""Bytes of `message`."""
COUNT_MIN = 2
"""The smallest count of an event series."""
_TYPES = ("Normal", "Warning")
_OLD_FIELDS = ("firstTimestamp", "lastTimestamp", "count")


def event(document: Document) -> Iterator[Cause]:
    """Validate a new event of the core group."""
    return _event(document, "reportingComponent")


def _event(document: Document, controller: str) -> Iterator[Cause]:
    """Validate the fields that both groups share.

    Events with an `eventTime` have to meet the stricter rules of events.k8s.io. `controller` is the
    name of the field `reportingComponent` in the group of the request.
    """
    place = (document.get("involvedObject") or {}).get("namespace") or ""
    namespace, styled = document["metadata"].get("namespace") or "", bool(document.get("eventTime"))
    anywhere = ("default", "kube-system") if styled else ("default",)
    if (not place and namespace not in anywhere) or (place and place != namespace and not styled):
        yield field_errors.invalid(
            "involvedObject.namespace", place, "does not match event.namespace"
        )
    if styled:
        yield from _styled(document, controller)


def new_event(document: Document) -> Iterator[Cause]:
    """Validate a new event of events.k8s.io, already converted to the core group."""
    yield from _event(document, "reportingController")
    name = document["metadata"].get("name") or ""
    yield from formats.check("metadata.name", name, object_names.subdomain_problems)
    if not document.get("eventTime"):
        yield field_errors.required("eventTime")
    if (series := document.get("series")) is not None:
        yield from _series(series)
    if (kind := document.get("type") or "") not in _TYPES:
        yield field_errors.invalid("type", "", f"has invalid value: {kind}")
    for key in _OLD_FIELDS:
        if document.get(key):
            yield field_errors.invalid(key, "", "needs to be unset")


def _series(series: Document) -> Iterator[Cause]:
    if (series.get("count") or 0) < COUNT_MIN:
        yield field_errors.invalid("series.count", "", f"should be at least {COUNT_MIN}")
    if not series.get("lastObservedTime"):
        yield field_errors.required("series.lastObservedTime")


def _styled(document: Document, at: str) -> Iterator[Cause]:
    controller = document.get("reportingComponent") or ""
    if not controller:
        yield field_errors.required(at)
    yield from formats.check(at, controller, formats.qualified_name)
    for key in ("reportingInstance", "action", "reason"):
        text = document.get(key) or ""
        if not text:
            yield field_errors.required(key)
        elif len(text.encode()) > TEXT_MAX:
            yield field_errors.invalid(key, "", f"can have at most {TEXT_MAX} characters")
    if len((document.get("message") or "").encode()) > MESSAGE_MAX:
        yield field_errors.invalid("message", "", f"can have at most {MESSAGE_MAX} characters")
