"""Namespaces: who has to be done with one before it goes."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats, object_meta


def namespace(document: Document) -> Iterator[Cause]:
    """A new namespace, or one that somebody is done with."""
    for name in (document.get("spec") or {}).get("finalizers") or ():
        yield from formats.each("spec.finalizers", name, formats.qualified_name)
        if "/" not in name and name not in object_meta.FINALIZERS:
            yield field_errors.invalid("spec.finalizers", name, object_meta.UNKNOWN_FINALIZER)
