"""Field selectors: the fields that each kind supports, read from stored objects.

After k8s.io/apimachinery/pkg/fields/selector.go.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

FieldSelector = Callable[[stored_objects.Stored], bool]
Paths = tuple[str, ...]
_TERM = re.compile(r"(?P<key>(?:[^=!]|!(?!=))*?)(?P<how>!=|==|=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")
_FLAGS = ("spec.hostNetwork", "spec.unschedulable")
"""Boolean fields, which are false if absent."""


def _same(*paths: str) -> dict[str, Paths]:
    return {path: (path,) for path in paths}


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: dict[tuple[str, str], Mapping[str, Paths]] = {
    ("", "Pod"): {
        **_same(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
            "spec.hostNetwork",
        ),
        "spec.host": ("spec.nodeName",),
    },
    ("", "Node"): _same("spec.unschedulable"),
    ("", "Namespace"): _same("status.phase"),
    ("", "Secret"): _same("type"),
    ("", "Service"): _same("spec.clusterIP", "spec.type"),
    ("", "Event"): {
        **_same(*(f"involvedObject.{part}" for part in _INVOLVED), "reason", "type"),
        "source": ("source.component", "reportingComponent"),
        "reportingComponent": ("reportingComponent",),
    },
    ("events.k8s.io", "Event"): {
        **_same("reason", "type"),
        "reportingController": ("reportingComponent",),
        **{f"regarding.{part}": (f"involvedObject.{part}",) for part in _INVOLVED},
    },
    ("resource.k8s.io", "ResourceSlice"): _same("spec.nodeName", "spec.driver"),
}
"""The selectable fields besides name and namespace, by (group, kind).

A field has the first of its paths that is set. The objects are as they are stored.
"""


def field_selector(resource: resources.ResourceType, text: str) -> FieldSelector:
    """Return a predicate over objects; raises StatusError 400 for unknown fields and bad syntax."""
    parts = [part for part in re.split(r"(?<!\\),", text) if part]
    terms = [_term(resource, part) for part in parts]
    if len(terms) == 1:
        return terms[0]
    return lambda stored: all(term(stored) for term in terms)


def _term(resource: resources.ResourceType, part: str) -> FieldSelector:
    match = _TERM.fullmatch(part)
    if match is None:
        raise status_errors.bad_request(f"not a field selector: {part!r}")
    key, equal = match["key"], match["how"] != "!="
    value = _ESCAPED.sub(r"\1", match["value"])
    if key == "metadata.name":
        return lambda stored: (stored.name == value) is equal
    if key == "metadata.namespace":
        return lambda stored: (stored.namespace == value) is equal
    if key not in _fields(resource):
        why = f"{key} is no field by which {resource.plural} can be selected"
        raise status_errors.bad_request(why)
    return lambda stored: (_values(resource, stored.data)[key] == value) is equal


def _fields(resource: resources.ResourceType) -> Mapping[str, Paths]:
    return _FIELDS.get((resource.group, resource.kind), {})


@functools.lru_cache(maxsize=4096)
def _values(resource: resources.ResourceType, data: bytes) -> Mapping[str, str]:
    """Return the selectable values of an object; cached, since all watches evaluate a commit."""
    decoded = _decoder(resource).decode(data)
    return {
        name: next(filter(None, (_text(decoded, path) for path in paths)), "")
        for name, paths in _fields(resource).items()
    }


@functools.cache
def _decoder(resource: resources.ResourceType) -> msgspec.json.Decoder[Any]:
    """Return a decoder of the selectable fields only, which is several times faster."""
    paths = [tuple(path.split(".")) for paths in _fields(resource).values() for path in paths]
    return msgspec.json.Decoder(_struct("Selectable", paths))


def _struct(name: str, paths: list[Paths]) -> Any:
    """Return a struct type with a field for each first part of the paths, nested for the rest."""
    parts = dict.fromkeys(path[0] for path in paths)
    children = {
        part: [path[1:] for path in paths if path[0] == part and path[1:]] for part in parts
    }
    return msgspec.defstruct(
        name,
        [
            (part, _struct(f"{name}_{part}", rest) | None if rest else Any, None)
            for part, rest in children.items()
        ],
    )


def _text(value: Any, path: str) -> str:
    for part in path.split("."):
        value = getattr(value, part, None)
    if path in _FLAGS:
        return "true" if value else "false"
    return "" if value is None else str(value)
