"""Events, of the core group and of their own."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver import naming
from harness.apiserver.rules import causes, formats
from harness.apiserver.statuses import Cause

Document = dict[str, Any]
TEXT_MAX = 128
MESSAGE_MAX = 1024
COUNT_MIN = 2
_TYPES = ("Normal", "Warning")
_OLD_FIELDS = ("firstTimestamp", "lastTimestamp", "count")


def event(document: Document) -> Iterator[Cause]:
    """A new event of the core group."""
    return _event(document, "reportingComponent")


def _event(document: Document, controller: str) -> Iterator[Cause]:
    """An event has an eventTime only when it was written in the newer style; the groups have their own names for who reports."""
    place = (document.get("involvedObject") or {}).get("namespace") or ""
    namespace, styled = document["metadata"].get("namespace") or "", bool(document.get("eventTime"))
    anywhere = ("default", "kube-system") if styled else ("default",)
    if (not place and namespace not in anywhere) or (place and place != namespace and not styled):
        yield causes.invalid("involvedObject.namespace", place, "does not match event.namespace")
    if styled:
        yield from _styled(document, controller)


def new_event(document: Document) -> Iterator[Cause]:
    """A new event of events.k8s.io, in the form in which it is stored."""
    yield from _event(document, "reportingController")
    name = document["metadata"].get("name") or ""
    yield from formats.each("metadata.name", name, naming.subdomain_problems)
    if not document.get("eventTime"):
        yield causes.required("eventTime")
    if (series := document.get("series")) is not None:
        yield from _series(series)
    if (kind := document.get("type") or "") not in _TYPES:
        yield causes.invalid("type", "", f"has invalid value: {kind}")
    for key in _OLD_FIELDS:
        if document.get(key):
            yield causes.invalid(key, "", "needs to be unset")


def _series(series: Document) -> Iterator[Cause]:
    if (series.get("count") or 0) < COUNT_MIN:
        yield causes.invalid("series.count", "", f"should be at least {COUNT_MIN}")
    if not series.get("lastObservedTime"):
        yield causes.required("series.lastObservedTime")


def _styled(document: Document, at: str) -> Iterator[Cause]:
    controller = document.get("reportingComponent") or ""
    if not controller:
        yield causes.required(at)
    yield from formats.each(at, controller, formats.qualified_name)
    for key in ("reportingInstance", "action", "reason"):
        text = document.get(key) or ""
        if not text:
            yield causes.required(key)
        elif len(text.encode()) > TEXT_MAX:
            yield causes.invalid(key, "", f"can have at most {TEXT_MAX} characters")
    if len((document.get("message") or "").encode()) > MESSAGE_MAX:
        yield causes.invalid("message", "", f"can have at most {MESSAGE_MAX} characters")
