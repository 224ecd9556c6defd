"""The types of the API, from the OpenAPI of Kubernetes: fields, merge rules, zero values.

Start at `of(resource)`, or at `of_kind(group, version, kind)` for kinds that are not stored
(DeleteOptions, Binding, Eviction, lists):

    pod = api_types.of(resources.PODS)                            # kind "object"
    containers = pod.fields["spec"].type.fields["containers"].type  # kind "list", keys ("name",)
    containers.item.fields["resources"].zero()                    # {}: encoded even if unset

A `Type` describes the values and how server-side apply merges them (`merges`, `keys`). A `Field`
describes the use of a type in its parent, with the rules of strategic merge patch. Both are built
on first use and shared: never change them. They hash by identity, so a function of a Type can be
cached with `functools.cache`. `raw` returns the OpenAPI definitions themselves.

tools/schemas.py writes the data files. Definitions: Copyright The Kubernetes Authors, Apache
License 2.0.
"""

import functools
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from harness.apiserver import json_codec
from harness.apiserver.scheme import resources

Kind = Literal[
    "object", "list", "map", "any",
    "string", "boolean", "integer", "number", "bytes",
    "quantity", "int_or_string", "time", "micro_time",
]  # fmt: skip
"""The shape of a value.

`any` is unstructured JSON (RawExtension, FieldsV1); `quantity` to `micro_time` are Go types with
parsers of their own.
"""
Merges = Literal["", "atomic", "set", "map"]
Node = Mapping[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SPECIAL: dict[str, Kind] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int_or_string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    f"{_META}Time": "time",
    f"{_META}MicroTime": "micro_time",
    f"{_META}FieldsV1": "any",
    f"{_META}Patch": "any",
}
_ZEROS: dict[Kind, Any] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
    "quantity": "0",
    "int_or_string": 0,
}


class Type(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The type of a value."""

    kind: Kind
    name: str = ""
    """The full name of the OpenAPI definition, "" for an inline type."""
    format: str = ""
    """`int32` or `int64` for an integer."""
    merges: Merges = ""
    """How server-side apply merges values.

    `atomic`, `set` or `map` for a list; `atomic`, or "" for one owner per field, for an object or
    map.
    """
    keys: tuple[str, ...] = ()
    """The fields that identify the items of a list that merges as a `map`."""
    item: "Type | None" = None
    """The type of a list's items or of a map's values; None for other kinds."""

    @functools.cached_property
    def fields(self) -> Mapping[str, "Field"]:
        """The fields of an object by their JSON names; empty for other kinds."""
        if self.kind != "object":
            return {}
        node = raw()[self.name]
        return {name: _field(name, child) for name, child in node.get("properties", {}).items()}

    @property
    def item_type(self) -> "Type":
        """The type of a list's items or of a map's values. Raises TypeError for other kinds."""
        if self.item is None:
            raise TypeError(f"expected a {self.kind} with items")
        return self.item

    def zero(self) -> Any:
        """Return a new zero value, as Go encodes it; None for types without one."""
        if self.kind != "object":
            return _ZEROS.get(self.kind)
        return {name: field.zero() for name, field in self.fields.items() if field.always}


ANY = Type(kind="any")
"""The type of unstructured JSON, and of fields that are unknown."""


class Field(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A field of an object, and the use of its type there."""

    name: str
    type: Type
    always: bool = False
    """Go encodes the field even if unset: it has no `omitempty`, or it is a struct."""
    pointer: bool = False
    """The Go field is a pointer: an empty value that was set is kept, an unset one is null."""
    is_merged_by_patch: bool = False
    """A strategic merge patch merges the list, by `patch_key` or, if that is empty, by value."""
    patch_key: str = ""

    def zero(self) -> Any:
        """Return a new zero value of the field, None for a pointer."""
        return None if self.pointer else self.type.zero()


def of(resource: resources.ResourceType) -> Type:
    """Return the type of a resource's objects."""
    return of_kind(resource.group, resource.version, resource.kind)


def of_kind(group: str, version: str, kind: str) -> Type:
    """Return the type of any kind of Kubernetes, stored or not. Raises KeyError if unknown."""
    return definition(_kinds()[group, version, kind])


@functools.cache
def definition(name: str) -> Type:
    """Return the type of an OpenAPI definition by its full name. Raises KeyError if unknown."""
    node = raw()[name]
    kind = _SPECIAL.get(name, "object")
    return Type(kind=kind, name=name, merges=_granular(node.get("x-kubernetes-map-type", "")))


@functools.cache
def raw() -> Mapping[str, Node]:
    """Return the OpenAPI definitions by full name, without descriptions; `$ref`s are full names."""
    definitions: Mapping[str, Node] = json_codec.decode(
        json_codec.packed(__package__, "schemas.json.gz")
    )
    return definitions


# ------------------------------------------------------------------ building


@functools.cache
def _kinds() -> Mapping[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, node in raw().items()
        for kind in node.get("x-kubernetes-group-version-kind", ())
    }


def _field(name: str, node: Node) -> Field:
    kind = _type(node)
    return Field(
        name=name,
        type=kind,
        always=node.get("x-go-always", False),
        pointer=node.get("x-go-pointer", False),
        is_merged_by_patch=kind.kind == "list"
        and "merge" in node.get("x-kubernetes-patch-strategy", "").split(","),
        patch_key=node.get("x-kubernetes-patch-merge-key", ""),
    )


def _type(node: Node) -> Type:
    if "$ref" in node:
        return _reference(node)
    match node.get("type"):
        case "array":
            return Type(
                kind="list",
                merges=node.get("x-kubernetes-list-type", "atomic"),
                keys=tuple(node.get("x-kubernetes-list-map-keys", ())),
                item=_type(node["items"]),
            )
        case "object":
            values = node.get("additionalProperties")
            merges = _granular(node.get("x-kubernetes-map-type", ""))
            if values is None:
                return Type(kind="any", merges=merges)
            return Type(kind="map", merges=merges, item=_type(values))
    return _scalar(node.get("type", ""), node.get("format", ""))


def _reference(node: Node) -> Type:
    target = definition(node["$ref"])
    merges = node.get("x-kubernetes-map-type")
    if merges is None or _granular(merges) == target.merges:
        return target
    return Type(kind=target.kind, name=target.name, merges=_granular(merges))


def _scalar(type_name: str, format_name: str) -> Type:
    if format_name == "byte":
        return Type(kind="bytes")
    if type_name in ("string", "boolean", "integer", "number"):
        return Type(kind=type_name, format=format_name)  # type: ignore[arg-type]
    return ANY


def _granular(map_type: str) -> Merges:
    return "atomic" if map_type == "atomic" else ""
