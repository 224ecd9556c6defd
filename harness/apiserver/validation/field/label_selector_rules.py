"""Label selectors in the fields of objects."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats, object_meta


def selector(document: Document | None, at: str) -> Iterator[Cause]:
    """A selector of labels; none selects nothing, an empty one everything."""
    if document is None:
        return
    yield from object_meta.labels(document.get("matchLabels"), f"{at}.matchLabels")
    for index, requirement in enumerate(document.get("matchExpressions") or ()):
        yield from _requirement(requirement, f"{at}.matchExpressions[{index}]")


def keys(document: Document) -> set[str]:
    """The keys that a selector speaks of."""
    expressions = document.get("matchExpressions") or ()
    return {*(document.get("matchLabels") or ()), *(item.get("key") or "" for item in expressions)}


def operator(name: str, values: list[str], at: str) -> Iterator[Cause]:
    """An operator that labels are selected with, and whether it goes with so many values."""
    match name:
        case "In" | "NotIn":
            if not values:
                why = "must be specified when `operator` is 'In' or 'NotIn'"
                yield field_errors.required(f"{at}.values", why)
        case "Exists" | "DoesNotExist":
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield field_errors.forbidden(f"{at}.values", why)
        case _:
            yield field_errors.invalid(f"{at}.operator", name, "not a valid selector operator")


def _requirement(document: Document, at: str) -> Iterator[Cause]:
    values = document.get("values") or []
    yield from operator(document.get("operator") or "", values, at)
    yield from formats.each(f"{at}.key", document.get("key") or "", formats.qualified_name)
    for index, value in enumerate(values):
        yield from formats.each(f"{at}.values[{index}]", value, formats.label_value)
