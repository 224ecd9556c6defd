"""Label selectors, node selectors and node names in the fields of objects."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats, object_meta

_NODE_FIELD = "metadata.name"


def label_selector(document: Document | None, at: str) -> Iterator[Cause]:
    """Validate a `metav1.LabelSelector`. None is valid."""
    if document is None:
        return
    yield from object_meta.labels(document.get("matchLabels"), f"{at}.matchLabels")
    for index, requirement in enumerate(document.get("matchExpressions") or ()):
        yield from _label_selector_requirement(requirement, f"{at}.matchExpressions[{index}]")


def _label_operator(name: str, values: list[str], at: str) -> Iterator[Cause]:
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


def _label_selector_requirement(document: Document, at: str) -> Iterator[Cause]:
    values = document.get("values") or []
    yield from _label_operator(document.get("operator") or "", values, at)
    yield from formats.check(f"{at}.key", document.get("key") or "", formats.qualified_name)
    for index, value in enumerate(values):
        yield from formats.check(f"{at}.values[{index}]", value, formats.label_value)


def node_selector(document: Document, at: str) -> Iterator[Cause]:
    """Validate a node selector, which needs at least one term."""
    terms: list[Document] = document.get("nodeSelectorTerms") or []
    if not terms:
        why = "must have at least one node selector term"
        yield field_errors.required(f"{at}.nodeSelectorTerms", why)
    for index, document in enumerate(terms):
        yield from node_selector_term(document, f"{at}.nodeSelectorTerms[{index}]")


def node_selector_term(
    document: Document, at: str, *, check_values: bool = True
) -> Iterator[Cause]:
    """Validate a term of a node selector; preferences pass `check_values=False`."""
    for index, requirement in enumerate(document.get("matchExpressions") or ()):
        where = f"{at}.matchExpressions[{index}]"
        yield from _node_label_requirement(requirement, where, check_values=check_values)
    for index, requirement in enumerate(document.get("matchFields") or ()):
        yield from _node_field_requirement(requirement, f"{at}.matchFields[{index}]")


def node_name(value: str, at: str) -> list[Cause]:
    """Validate the name of a node."""
    return formats.check(at, value, formats.subdomain)


def _node_label_requirement(document: Document, at: str, *, check_values: bool) -> Iterator[Cause]:
    values = document.get("values") or []
    yield from _node_operator(document.get("operator") or "", values, at)
    yield from formats.check(f"{at}.key", document.get("key") or "", formats.qualified_name)
    for index, value in enumerate(values if check_values else ()):
        yield from formats.check(f"{at}.values[{index}]", value, formats.label_value)


def _node_operator(operator: str, values: list[str], at: str) -> Iterator[Cause]:
    """Validate an operator of node selectors: those of label selectors, `Gt` and `Lt`."""
    if operator not in ("Gt", "Lt"):
        yield from _label_operator(operator, values, at)
    elif len(values) != 1:
        why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        yield field_errors.required(f"{at}.values", why)


def _node_field_requirement(document: Document, at: str) -> Iterator[Cause]:
    values, operator = document.get("values") or [], document.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield field_errors.invalid(f"{at}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield field_errors.required(f"{at}.values", why)
    key = document.get("key") or ""
    if key != _NODE_FIELD:
        yield field_errors.invalid(f"{at}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from node_name(value, f"{at}.values[{index}]")
