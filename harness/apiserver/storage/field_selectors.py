"""Field selectors: the fields that each kind supports, read from stored objects.

After k8s.io/apimachinery/pkg/fields/selector.go.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

FieldSelector = Callable[[stored_objects.Stored], bool]
_TERM = re.compile(r"(?P<key>(?:[^=!]|!(?!=))*?)(?P<how>!=|==|=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")
_UNSUPPORTED = "field label not supported: {key}"


class _Fields(NamedTuple):
    """The fields of a kind besides name and namespace, and its message for unknown fields."""

    text: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Boolean fields, which are false if absent."""
    unknown: str = _UNSUPPORTED
    aliases: Mapping[str, tuple[str, ...]] = {}
    """Names for other fields; the first one that is set counts."""


_PLAIN = _Fields(
    unknown='"{key}" is not a known field selector: only "metadata.name", "metadata.namespace"'
)
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REGARDING = tuple(f"regarding.{part}" for part in _INVOLVED)
_FIELDS: dict[tuple[str, str], _Fields] = {
    ("", "Pod"): _Fields(
        text=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
        flags=("spec.hostNetwork",),
        aliases={"spec.host": ("spec.nodeName",)},
    ),
    ("", "Node"): _Fields(flags=("spec.unschedulable",)),
    ("", "Namespace"): _Fields(text=("status.phase",)),
    ("", "Secret"): _Fields(text=("type",)),
    ("", "Service"): _Fields(text=("spec.clusterIP", "spec.type")),
    ("", "Event"): _Fields(
        text=(*(f"involvedObject.{part}" for part in _INVOLVED), "reason", "type"),
        aliases={
            "source": ("source.component", "reportingComponent"),
            "reportingComponent": ("reportingComponent",),
        },
    ),
    ("events.k8s.io", "Event"): _Fields(
        text=("reason", "type"),
        aliases={
            "reportingController": ("reportingComponent",),
            **{
                name: (f"involvedObject.{part}",)
                for name, part in zip(_REGARDING, _INVOLVED, strict=True)
            },
        },
    ),
    ("resource.k8s.io", "ResourceSlice"): _Fields(
        text=("spec.nodeName", "spec.driver"),
        unknown="field label not supported for {api_version}, Kind={kind}: {key}",
    ),
}


def field_selector(resource: resources.ResourceType, text: str) -> FieldSelector:
    """Return a predicate over objects; raises StatusError 400 for unknown fields and bad syntax."""
    parts = [part for part in re.split(r"(?<!\\),", text) if part]
    terms = [_term(resource, text, part) for part in parts]
    if len(terms) == 1:
        return terms[0]
    return lambda stored: all(term(stored) for term in terms)


def _term(resource: resources.ResourceType, text: str, part: str) -> FieldSelector:
    match = _TERM.fullmatch(part)
    if match is None:
        raise status_errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    key, equal = match["key"], match["how"] != "!="
    value = _ESCAPED.sub(r"\1", match["value"])
    if key == "metadata.name":
        return lambda stored: (stored.name == value) is equal
    if key == "metadata.namespace":
        return lambda stored: (stored.namespace == value) is equal
    position = _positions(resource).get(key)
    if position is None:
        fields = _fields(resource)
        raise status_errors.bad_request(
            fields.unknown.format(key=key, api_version=resource.api_version, kind=resource.kind)
        )
    return lambda stored: (_values(resource, stored.data)[position] == value) is equal


def _fields(resource: resources.ResourceType) -> _Fields:
    return _FIELDS.get((resource.group, resource.kind), _PLAIN)


@functools.cache
def _positions(resource: resources.ResourceType) -> Mapping[str, int]:
    fields = _fields(resource)
    names = (*fields.text, *fields.flags, *fields.aliases)
    return {name: position for position, name in enumerate(names)}


@functools.lru_cache(maxsize=4096)
def _values(resource: resources.ResourceType, data: bytes) -> tuple[str, ...]:
    """Return the selectable values of an object; cached, since all watches evaluate a commit."""
    fields = _fields(resource)
    decoded = _decoder(resource).decode(data)
    texts = [_text(_value(decoded, path)) for path in fields.text]
    flags = [_text(_value(decoded, path) or False) for path in fields.flags]
    others = [
        next((text for path in paths if (text := _text(_value(decoded, path)))), "")
        for paths in fields.aliases.values()
    ]
    return (*texts, *flags, *others)


@functools.cache
def _decoder(resource: resources.ResourceType) -> msgspec.json.Decoder[Any]:
    """Return a decoder of the selectable fields only, which is several times faster."""
    fields = _fields(resource)
    aliased = [path for paths in fields.aliases.values() for path in paths]
    paths = [tuple(path.split(".")) for path in (*fields.text, *fields.flags, *aliased)]
    return msgspec.json.Decoder(_struct("Selectable", paths))


def _struct(name: str, paths: list[tuple[str, ...]]) -> Any:
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


def _value(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
