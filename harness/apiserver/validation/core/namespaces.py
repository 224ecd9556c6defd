"""Namespaces: who has to be done with one before it goes."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.rules import causes, formats, metadata
from harness.apiserver.statuses import Cause

Document = dict[str, Any]


def namespace(document: Document) -> Iterator[Cause]:
    """A new namespace, or one that somebody is done with."""
    for name in (document.get("spec") or {}).get("finalizers") or ():
        yield from formats.each("spec.finalizers", name, formats.qualified_name)
        if "/" not in name and name not in metadata.FINALIZERS:
            yield causes.invalid("spec.finalizers", name, metadata.UNKNOWN_FINALIZER)
