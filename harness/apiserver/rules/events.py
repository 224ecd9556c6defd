"""Events, of the core group and of their own."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.rules import causes
from harness.apiserver.statuses import Cause

Document = dict[str, Any]


def event(document: Document) -> Iterator[Cause]:
    """A new event: it lives in the namespace of what it is about, or in `default`."""
    place = (document.get("involvedObject") or {}).get("namespace") or ""
    namespace = document["metadata"].get("namespace") or ""
    if place != namespace and not (not place and namespace in ("default", "kube-system")):
        yield causes.invalid("involvedObject.namespace", place, "does not match event.namespace")
