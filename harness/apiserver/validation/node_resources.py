"""Resource names and quantities of containers and nodes, and selectors of nodes."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import quantities
from harness.apiserver.validation import formats, rules

_STANDARD = ("cpu", "memory", "ephemeral-storage")
"""The resources without a domain that containers may request, besides huge pages."""
_HUGE_PAGES = "hugepages-"


def amount(name: str, value: object, at: str) -> Iterator[Cause]:
    """Reject a negative quantity, and a fractional one of a resource that is counted."""
    found = quantity(value)
    if found.amount < 0:
        yield field_errors.invalid(at, found.text, "must be greater than or equal to 0")
    if (name == "pods" or is_extended(name)) and found.amount % 1:
        yield field_errors.invalid(at, found.text, "must be an integer")


def of_container(resources: Document | None, at: str) -> Iterator[Cause]:
    """Validate limits and requests of a container.

    Requests of extended resources and huge pages must equal their limits.
    """
    limits, requests = ((resources or {}).get(key) or {} for key in ("limits", "requests"))
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            yield from _name(name, f"{at}.{key}[{name}]")
            yield from amount(name, value, f"{at}.{key}[{name}]")
    for name, value in requests.items():
        yield from _within(name, value, limits.get(name), at)
    names = (*limits, *requests)
    if not ("cpu" in names or "memory" in names) and any(map(_is_huge, names)):
        yield field_errors.forbidden(at, "HugePages require cpu or memory")


def is_extended(name: str) -> bool:
    """Return whether a name is that of an extended resource, such as `example.com/gpu`.

    After `IsExtendedResourceName` of k8s.io/kubernetes/pkg/apis/core/v1/helper.
    """
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not formats.qualified_name(f"requests.{name}")


def _is_huge(name: str) -> bool:
    return name.startswith(_HUGE_PAGES)


def _name(name: str, at: str) -> Iterator[Cause]:
    if formats.qualified_name(name):
        yield from rules.text(formats.qualified_name)(name, at)
    elif "/" not in name:
        if name not in _STANDARD and not _is_huge(name):
            yield field_errors.invalid(at, name, "must be a standard resource for containers")
    elif "kubernetes.io/" not in name and not is_extended(name):
        yield field_errors.invalid(at, name, "doesn't follow extended resource name standard")


def _within(name: str, value: object, limit: object, at: str) -> Iterator[Cause]:
    is_native = "/" not in name or "kubernetes.io/" in name
    may_differ = is_native and not _is_huge(name)
    if limit is None:
        if not may_differ:
            why = "Limit must be set for non overcommitable resources"
            yield field_errors.required(f"{at}.limits", why)
        return
    asked, most = quantity(value), quantity(limit)
    if asked.amount > most.amount or (not may_differ and asked.amount != most.amount):
        why = f"must be {'at most' if may_differ else 'equal to'} the {name} limit of {most.text}"
        yield field_errors.invalid(f"{at}.requests", asked.text, why)


def quantity(value: object) -> quantities.Quantity:
    """Return a quantity that the API server has decoded already."""
    return quantities.parse(str(value).strip())


# ------------------------------------------------------------------ node selectors


_VALUES = rules.items(rules.text(formats.label_value))


def _node_operator(requirement: Document, at: str) -> Iterator[Cause]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        yield from rules.required()(values, f"{at}.values")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield field_errors.required(f"{at}.values", "must be one value for 'Lt' and 'Gt'")
    elif operator not in ("Exists", "DoesNotExist"):
        yield field_errors.invalid(f"{at}.operator", operator, "not a valid selector operator")
    elif values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield field_errors.forbidden(f"{at}.values", why)


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
