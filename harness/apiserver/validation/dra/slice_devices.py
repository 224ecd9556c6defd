"""Devices of a ResourceSlice: names, attributes, capacity, taints, node selection."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import device_capacity, device_taints, dra_names
from harness.apiserver.validation.field import conditions, field_rules, formats, selector_rules

PROPERTIES_MAX = 32
"""Attributes and capacities of one device, counted together."""
VALUE_BYTES_MAX = 64
"""Bytes of a string or version attribute."""
ATTRIBUTE_VALUES_MAX = 48
"""Values of all attributes of one device, where each item of a list counts."""
LIST_VALUES = ("bools", "ints", "strings", "versions")
"""Fields of an attribute whose value is a list."""
COUNTER_CONSUMPTIONS_MAX = 2
"""Counter sets that one device consumes from."""
_KEY_SHOWN_MAX = 63 + 1 + 32
"""Characters of a map key in an error path; longer keys are shortened in the middle."""
_NODE_CHOICES = ("nodeName", "nodeSelector", "allNodes")
_ONE_CHOICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_CHOICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to "
    "true in the ResourceSlice spec"
)


def device(
    document: Document, at: str, *, old: Document | None, each_chooses: bool
) -> Iterator[Cause]:
    """Validate a device; capacity and taints that `old` has unchanged are not validated again."""
    yield from formats.check(f"{at}.name", document.get("name") or "", formats.label)
    attributes, capacity = document.get("attributes") or {}, document.get("capacity") or {}
    if (count := len(attributes) + len(capacity)) > PROPERTIES_MAX:
        why = f"the total number of attributes and capacities must not exceed {PROPERTIES_MAX}"
        yield field_errors.invalid(at, count, why)
    if (count := _count_values(attributes)) > ATTRIBUTE_VALUES_MAX:
        why = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}"
        yield field_errors.invalid(at, count, why)
    if attributes:
        yield from by_name(attributes, f"{at}.attributes", _attribute)
    if capacity and not (old and field_rules.semantically_equal(capacity, old.get("capacity"))):
        shared = bool(document.get("allowMultipleAllocations"))
        rule = device_capacity.shared_capacity if shared else device_capacity.unshared_capacity
        yield from by_name(capacity, f"{at}.capacity", rule)
    yield from _taints(document.get("taints") or [], old, at)
    yield from field_rules.unique_items(
        document.get("consumesCounters") or [],
        f"{at}.consumesCounters",
        COUNTER_CONSUMPTIONS_MAX,
        device_capacity.counter_consumption,
        lambda consumption: consumption.get("counterSet") or "",
    )
    yield from _nodes(document, at, each_chooses=each_chooses)
    if conditions.BINDING_FIELDS & document.keys():
        yield from conditions.binding_conditions(document, at)


def has_list(document: Document) -> bool:
    """Return whether a device has an attribute whose value is a list."""
    attributes = (document.get("attributes") or {}).values()
    return any(key in (attribute or ()) for attribute in attributes for key in LIST_VALUES)


def by_name(
    documents: Document, at: str, rule: Callable[[Any, str], Iterator[Cause]]
) -> Iterator[Cause]:
    """Validate the names of attributes or capacities, and each value by the rule."""
    for name, item in documents.items():
        yield from dra_names.attribute_causes(at, name)
        yield from rule(item or {}, f"{at}[{_shortened(name)}]")


def chosen(document: Document, keys: Sequence[str]) -> list[str]:
    """Return which of these node selection fields are set."""
    return [key for key in keys if document.get(key) not in (None, "", False)]


def shown_choices(keys: Sequence[str]) -> str:
    """Format the names of node selection fields for an error message."""
    return "{" + ", ".join(f"`{key}`" for key in keys) + "}"


def _shortened(name: str) -> str:
    if len(name) <= _KEY_SHOWN_MAX:
        return name
    left = _KEY_SHOWN_MAX - 3
    return f"{name[: (left + 1) // 2]}...{name[len(name) - left // 2 :]}"


def _attribute(attribute: Document, at: str) -> Iterator[Cause]:
    if (text := attribute.get("string")) is not None:
        yield from _string(text, f"{at}.string")
    if (version := attribute.get("version")) is not None:
        yield from _version(version, f"{at}.version")
    yield from _lists(attribute, at)
    count = sum(value is not None for value in attribute.values())
    if count != 1:
        shown = attribute if count else ""
        yield field_errors.invalid(at, shown, "exactly one value must be specified")


def _lists(attribute: Document, at: str) -> Iterator[Cause]:
    """Validate values that are lists: none is empty, and each item is as a value would be."""
    for key in LIST_VALUES:
        if attribute.get(key) == []:
            yield field_errors.invalid(f"{at}.{key}", [], "must not be empty if specified")
    for key, rule in (("strings", _string), ("versions", _version)):
        for index, item in enumerate(attribute.get(key) or ()):
            yield from rule(item, f"{at}.{key}[{index}]")


def _string(text: str, at: str) -> Iterator[Cause]:
    if len(text.encode()) > VALUE_BYTES_MAX:
        yield field_errors.too_long(at, VALUE_BYTES_MAX)


def _version(text: str, at: str) -> Iterator[Cause]:
    yield from formats.check(at, text, formats.semantic_version)
    yield from _string(text, at)


def _count_values(attributes: Document) -> int:
    """Return the number of values of all attributes; one that is no list counts once."""
    return sum(
        sum(len((attribute or {}).get(key) or ()) for key in LIST_VALUES) or 1
        for attribute in attributes.values()
    )


def _taints(taints: list[Document], old: Document | None, at: str) -> Iterator[Cause]:
    if old is None or not field_rules.semantically_equal(taints, old.get("taints") or []):
        yield from field_rules.max_items(
            taints, f"{at}.taints", device_taints.TAINTS_MAX, device_taints.taint
        )


def _nodes(document: Document, at: str, *, each_chooses: bool) -> Iterator[Cause]:
    if not each_chooses:
        if any(document.get(key) is not None for key in _NODE_CHOICES):
            yield field_errors.invalid(at, None, _NO_CHOICE)
        return
    if (name := document.get("nodeName")) == "":
        yield field_errors.invalid(f"{at}.nodeName", name, "must not be empty")
    elif name is not None:
        yield from selector_rules.node_name(name, f"{at}.nodeName")
    if (selector := document.get("nodeSelector")) is not None:
        yield from selector_rules.node_selector(selector, f"{at}.nodeSelector")
    if document.get("allNodes") is False:
        yield field_errors.invalid(f"{at}.allNodes", False, "must be either unset or set to true")  # noqa: FBT003
    choices = chosen(document, _NODE_CHOICES)
    if not choices:
        yield field_errors.required(at, _ONE_CHOICE)
    elif len(choices) > 1:
        yield field_errors.invalid(at, shown_choices(choices), _ONE_CHOICE)
