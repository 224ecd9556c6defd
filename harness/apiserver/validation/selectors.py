"""Node selectors."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation import formats, rules

_VALUES = rules.items(rules.text(formats.label_value))


def _operator(requirement: Document, at: str) -> Iterator[Cause]:
    operator, values = requirement.get("operator") or "", requirement.get("values")
    if operator in ("In", "NotIn"):
        yield from rules.required()(values, f"{at}.values")
    elif operator not in ("Exists", "DoesNotExist"):
        yield field_errors.invalid(f"{at}.operator", operator, "not a valid selector operator")
    elif values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield field_errors.forbidden(f"{at}.values", why)


def _node_operator(requirement: Document, at: str) -> Iterator[Cause]:
    """Validate an operator of node selectors: those of label selectors, `Gt` and `Lt`."""
    if requirement.get("operator") not in ("Gt", "Lt"):
        yield from _operator(requirement, at)
    elif len(requirement.get("values") or ()) != 1:
        yield field_errors.required(f"{at}.values", "must be one value for 'Lt' and 'Gt'")


def _node_field(requirement: Document, at: str) -> Iterator[Cause]:
    values, operator = requirement.get("values") or [], requirement.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield field_errors.invalid(f"{at}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        yield field_errors.required(f"{at}.values", "must be one value for a node's field")
    key = requirement.get("key") or ""
    if key != "metadata.name":
        yield field_errors.invalid(f"{at}.key", key, "not a valid field selector key")
        return
    yield from rules.items(rules.text(formats.subdomain))(values, f"{at}.values")


_KEY = ("key", rules.text(formats.qualified_name))
_TERM = rules.fields(
    (
        "matchExpressions",
        rules.items(rules.fields(("", _node_operator), _KEY, ("values", _VALUES))),
    ),
    ("matchFields", rules.items(_node_field)),
)
node_selector = rules.fields(
    ("nodeSelectorTerms", rules.required(rules.items(_TERM), "must have at least one term"))
)
"""Validates a node selector, which needs at least one term."""
