"""Label and field selectors: predicates over objects.

After k8s.io/apimachinery/pkg/labels/selector.go and pkg/fields/selector.go.
"""

import functools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects
from harness.apiserver.validation import formats

Labels = Mapping[str, str]
LabelSelector = Callable[[Labels], bool]
FieldSelector = Callable[[stored_objects.Stored], bool]

# ------------------------------------------------------------------ labels

_WORD = r"[^\s=!(),<>]"
_REQUIREMENT = re.compile(
    rf"""\s*(?:
        !\s*(?P<absent>{_WORD}+)
      | (?P<key>{_WORD}+)(?:
            \s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
          | \s*(?P<how>==?|!=|[<>])\s*(?P<value>{_WORD}*)
        )?
    )\s*(?:,\s*(?=\S)|$)""",
    re.VERBOSE,
)


def label_selector(text: str) -> LabelSelector:
    """Return a predicate over labels; raises StatusError 400 for bad syntax."""
    try:
        terms = [_label_term(found) for found in _requirements(text)]
    except ValueError as error:
        raise status_errors.bad_request(f"not a label selector: {text!r}: {error}") from error
    if len(terms) == 1:
        return terms[0]
    return lambda labels: all(term(labels) for term in terms)


def _requirements(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text.rstrip()):
        found = _REQUIREMENT.match(text, at)
        if found is None:
            raise ValueError(f"expected a requirement at {text[at:]!r}")
        yield found
        at = found.end()


def _label_term(found: re.Match[str]) -> LabelSelector:
    key = found["absent"] or found["key"]
    listed = (found["value"] or "") if found["values"] is None else found["values"]
    values = {value.strip() for value in listed.split(",")}
    of_values = (problem for value in values for problem in formats.label_value(value))
    if problems := [*formats.qualified_name(key), *of_values]:
        raise ValueError("; ".join(problems))
    match found["set"] or found["how"]:
        case "in" | "=" | "==":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "<" | ">" as how:
            bound, beyond = int(values.pop()), operator.gt if how == ">" else operator.lt
            return lambda labels: labels.get(key, "").isdigit() and beyond(int(labels[key]), bound)
    is_wanted = found["absent"] is None
    return lambda labels: (key in labels) is is_wanted


# ------------------------------------------------------------------ fields

Paths = tuple[str, ...]
_TERM = re.compile(r"(?P<key>(?:[^=!]|!(?!=))*?)(?P<how>!=|==|=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")
_FLAGS = ("spec.hostNetwork", "spec.unschedulable")
"""Boolean fields, which are false if absent."""


def _same(*paths: str) -> dict[str, Paths]:
    return {path: (path,) for path in paths}


_OF_POD_SPECS = "nodeName", "restartPolicy", "schedulerName", "serviceAccountName", "hostNetwork"
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: dict[tuple[str, str], Mapping[str, Paths]] = {
    ("", "Pod"): {
        **_same(*(f"spec.{part}" for part in _OF_POD_SPECS)),
        **_same("status.phase", "status.podIP", "status.nominatedNodeName"),
        "spec.host": ("spec.nodeName",),
    },
    ("", "Node"): _same("spec.unschedulable"),
    ("", "Namespace"): _same("status.phase"),
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
    terms = [_field_term(resource, part) for part in parts]
    if len(terms) == 1:
        return terms[0]
    return lambda stored: all(term(stored) for term in terms)


def _field_term(resource: resources.ResourceType, part: str) -> FieldSelector:
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
