"""Which nodes something is for: node selectors and node names."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats, label_selector_rules

_FIELD = "metadata.name"


def selector(document: Document, at: str) -> Iterator[Cause]:
    """A node selector: at least one term."""
    terms: list[Document] = document.get("nodeSelectorTerms") or []
    if not terms:
        why = "must have at least one node selector term"
        yield field_errors.required(f"{at}.nodeSelectorTerms", why)
    for index, document in enumerate(terms):
        yield from term(document, f"{at}.nodeSelectorTerms[{index}]")


def term(document: Document, at: str, *, check_values: bool = True) -> Iterator[Cause]:
    """One term; the values of a mere preference may be anything."""
    for index, requirement in enumerate(document.get("matchExpressions") or ()):
        where = f"{at}.matchExpressions[{index}]"
        yield from _label_requirement(requirement, where, check_values=check_values)
    for index, requirement in enumerate(document.get("matchFields") or ()):
        yield from _field_requirement(requirement, f"{at}.matchFields[{index}]")


def node_name(value: str, at: str) -> list[Cause]:
    """The name of a node."""
    return formats.each(at, value, formats.subdomain)


def _label_requirement(document: Document, at: str, *, check_values: bool) -> Iterator[Cause]:
    values = document.get("values") or []
    yield from _operator(document.get("operator") or "", values, at)
    yield from formats.each(f"{at}.key", document.get("key") or "", formats.qualified_name)
    for index, value in enumerate(values if check_values else ()):
        yield from formats.each(f"{at}.values[{index}]", value, formats.label_value)


def _operator(operator: str, values: list[str], at: str) -> Iterator[Cause]:
    """Those of labels, and two that compare numbers."""
    if operator not in ("Gt", "Lt"):
        yield from label_selector_rules.operator(operator, values, at)
    elif len(values) != 1:
        why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        yield field_errors.required(f"{at}.values", why)


def _field_requirement(document: Document, at: str) -> Iterator[Cause]:
    values, operator = document.get("values") or [], document.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield field_errors.invalid(f"{at}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield field_errors.required(f"{at}.values", why)
    key = document.get("key") or ""
    if key != _FIELD:
        yield field_errors.invalid(f"{at}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from node_name(value, f"{at}.values[{index}]")
