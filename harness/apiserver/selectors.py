"""Label and field selectors."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.apiserver import resources, statuses

Labels = Mapping[str, str]
LabelSelector = Callable[[Labels], bool]
Document = Mapping[str, Any]
FieldSelector = Callable[[Document], bool]

_SET = re.compile(r"^\s*(?P<key>[^\s!=<>,()]+)\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)\s*$")
_EQUAL = re.compile(r"^\s*(?P<key>[^\s!=<>,()]+)\s*(?P<how>==|=|!=)\s*(?P<value>[^\s=!<>,()]*)\s*$")
_EXISTS = re.compile(r"^\s*(?P<no>!?)\s*(?P<key>[^\s!=<>,()]+)\s*$")
_ORDER = re.compile(r"^\s*(?P<key>[^\s!=<>,()]+)\s*(?P<how>[<>])\s*(?P<value>-?\d+)\s*$")

FIELDS: dict[resources.ResourceType, tuple[str, ...]] = {
    resources.PODS: (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    resources.NODES: ("spec.unschedulable",),
    resources.NAMESPACES: ("status.phase",),
    resources.EVENTS: (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    resources.SLICES: ("spec.nodeName", "spec.driver"),
}
"""The fields that can be selected besides metadata.name and metadata.namespace."""


def label_selector(text: str) -> LabelSelector:
    """A predicate over labels; 400 for what cannot be parsed."""
    terms = [_label_term(part) for part in _split(text) if part.strip()]
    return lambda labels: all(term(labels) for term in terms)


def field_selector(resource: resources.ResourceType, text: str) -> FieldSelector:
    """A predicate over documents; 400 for an unknown field or what cannot be parsed."""
    terms = [_field_term(resource, part) for part in text.split(",") if part.strip()]
    return lambda document: all(term(document) for term in terms)


def _split(text: str) -> list[str]:
    """At the commas outside parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _label_term(part: str) -> LabelSelector:
    if match := _SET.match(part):
        return _set_term(match["key"], match["how"], match["values"])
    if match := _EQUAL.match(part):
        key, value = match["key"], match["value"]
        if match["how"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _ORDER.match(part):
        return _order_term(match["key"], match["how"], int(match["value"]))
    if match := _EXISTS.match(part):
        key, wanted = match["key"], not match["no"]
        return lambda labels: (key in labels) is wanted
    raise statuses.bad_request(f"unable to parse requirement: found '{part.strip()}'")


def _set_term(key: str, how: str, text: str) -> LabelSelector:
    values = {value.strip() for value in text.split(",")}
    if how == "in":
        return lambda labels: labels.get(key) in values if key in labels else False
    return lambda labels: labels.get(key) not in values


def _order_term(key: str, how: str, bound: int) -> LabelSelector:
    def matches(labels: Labels) -> bool:
        text = labels.get(key, "")
        if not re.fullmatch(r"-?\d+", text):
            return False
        return int(text) > bound if how == ">" else int(text) < bound

    return matches


def _field_term(resource: resources.ResourceType, part: str) -> FieldSelector:
    match = re.match(r"^\s*(?P<key>[^=!]+?)\s*(?P<how>==|=|!=)(?P<value>.*)$", part)
    if match is None:
        raise statuses.bad_request(f"invalid selector: '{part}'; can't understand '{part.strip()}'")
    key, value, equal = match["key"], match["value"].strip(), match["how"] != "!="
    if key not in ("metadata.name", "metadata.namespace", *FIELDS.get(resource, ())):
        raise statuses.bad_request(
            f'field label "{key}" not supported for {resource.kind}'
            if resource.group
            else f"field label not supported: {key}"
        )
    return lambda document: (_field(document, key) == value) is equal


def _field(document: Any, path: str) -> str:
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    match document:
        case None:
            return ""
        case bool():
            return "true" if document else "false"
        case _:
            return str(document)
