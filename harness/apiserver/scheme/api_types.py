"""The types of the API: fields, how lists merge, and which empty fields Go encodes; made from Kubernetes' own OpenAPI.

Start at `of(resource)` (or `of_kind(group, version, kind)` for what is not stored: DeleteOptions, Binding, Eviction, lists) and walk:

    pod = schemas.of(resources.PODS)                                 # Type, kind "object"
    containers = pod.field("spec").type.field("containers").type     # Type, kind "list", merges "map", keys ("name",)
    containers.item.fields["resources"].zero()                       # {} : encoded although nobody set it

A `Type` says what a value may be and how several owners' values merge (server-side apply: `merges`, `keys`). A `Field` says
how the type is used in its parent (required, strategic merge patch: `patch_key`, `patch_strategies`). Both are made once, on first use, and
shared: never change them. Compile what is needed from them once for each type (`functools.cache` on a Type works: they hash by
identity). `raw` and `descriptions` are the OpenAPI definitions themselves, for those who publish them.

The data files are written by tools/schemas.py. Definitions: Copyright The Kubernetes Authors, Apache License 2.0.
"""

import functools
import hashlib
import pkgutil
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from harness.apiserver.scheme import resources

Kind = Literal[
    "object", "list", "map", "any",
    "string", "boolean", "integer", "number", "bytes",
    "quantity", "int_or_string", "time", "micro_time",
]  # fmt: skip
"""The shape of a value. `any` is untouched JSON (RawExtension, FieldsV1); quantity to micro_time have their own parsers in Go."""
Merges = Literal["", "atomic", "set", "map"]
Node = Mapping[str, Any]

_GZIP = 16 + zlib.MAX_WBITS
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
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
JSON_SCHEMA = f"{_APIEXTENSIONS}JSONSchemaProps"
"""The definition of the schemas of custom resources."""
_ANY_NAMES = ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool")
_SPECIAL.update({f"{_APIEXTENSIONS}{name}": "any" for name in _ANY_NAMES})
_SPECIAL[f"{_APIEXTENSIONS}JSONSchemaPropsOrStringArray"] = "any"
_ZEROS: dict[Kind, Any] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
    "quantity": "0",
    "int_or_string": 0,
}


class Type(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """What a value may be."""

    kind: Kind
    name: str = ""
    """The definition's full name, "" when it has none of its own."""
    format: str = ""
    """int32 or int64 of an integer."""
    merges: Merges = ""
    """Of a list: atomic, set or map. Of an object or map: atomic, or "" when its fields are owned one by one."""
    keys: tuple[str, ...] = ()
    """What tells the items of a list map apart."""
    item: "Type | None" = None
    """The type of the items of a list or of the values of a map."""

    @functools.cached_property
    def fields(self) -> Mapping[str, "Field"]:
        """The fields of an object by their JSON names; empty for everything else."""
        if self.kind != "object":
            return {}
        node = raw()[self.name]
        required = frozenset(node.get("required", ()))
        return {
            name: _field(name, child, required=name in required)
            for name, child in node.get("properties", {}).items()
        }

    @functools.cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the required fields."""
        return tuple(name for name, field in self.fields.items() if field.required)

    def field(self, name: str) -> "Field":
        """The field of that name; KeyError when there is none."""
        return self.fields[name]

    def zero(self) -> Any:
        """A fresh value of this type as Go encodes it when nothing was set."""
        if self.kind != "object":
            return _ZEROS.get(self.kind)
        return {name: field.zero() for name, field in self.fields.items() if field.always}


class Field(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """How a type is used in an object."""

    name: str
    type: Type
    required: bool = False
    always: bool = False
    """Whether it is encoded when nobody set it (no `omitempty`, or a struct, which that never omits)."""
    pointer: bool = False
    """Whether Go holds it by pointer: an empty value that was set is kept, and one that was not set is null."""
    patch_key: str = ""
    """The one key by which strategic merge patches tell the items of the list apart."""
    patch_strategies: tuple[str, ...] = ()
    """merge, replace, retainKeys."""

    def zero(self) -> Any:
        """A fresh copy of its empty form."""
        return None if self.pointer else self.type.zero()


def of(resource: resources.ResourceType) -> Type:
    """The type of a resource's objects."""
    return of_kind(resource.group, resource.version, resource.kind)


def of_kind(group: str, version: str, kind: str) -> Type:
    """The type of any kind of Kubernetes, stored or not; KeyError when it is unknown."""
    return definition(_kinds()[group, version, kind])


@functools.cache
def definition(name: str) -> Type:
    """The type of a definition by its full name; KeyError when it is unknown."""
    node = raw()[name]
    kind = _SPECIAL.get(name, "object")
    return Type(kind=kind, name=name, merges=_granular(node.get("x-kubernetes-map-type", "")))


@functools.cache
def raw() -> Mapping[str, Node]:
    """The OpenAPI definitions by their full names, without descriptions; a $ref is a full name."""
    found: Mapping[str, Node] = _load("schemas.json.gz")
    return found


@functools.cache
def descriptions() -> Mapping[str, Mapping[str, str]]:
    """The texts of each definition: its own under "", the fields' under their names."""
    found: Mapping[str, Mapping[str, str]] = _load("descriptions.json.gz")
    return found


@functools.cache
def fingerprint() -> bytes:
    """Changes with the definitions and their texts."""
    digest = hashlib.sha256()
    for file in ("schemas.json.gz", "descriptions.json.gz"):
        digest.update(_read(file))
    return digest.digest()


# ------------------------------------------------------------------ building


def _load(file: str) -> Any:
    return msgspec.json.decode(zlib.decompress(_read(file), wbits=_GZIP))


def _read(file: str) -> bytes:
    data = pkgutil.get_data(__package__, file)
    if data is None:
        raise FileNotFoundError(file)
    return data


@functools.cache
def _kinds() -> Mapping[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, node in raw().items()
        for kind in node.get("x-kubernetes-group-version-kind", ())
    }


def _field(name: str, node: Node, *, required: bool) -> Field:
    return Field(
        name=name,
        type=_type(node),
        required=required,
        always=node.get("x-go-always", False),
        pointer=node.get("x-go-pointer", False),
        patch_key=node.get("x-kubernetes-patch-merge-key", ""),
        patch_strategies=tuple(
            filter(None, node.get("x-kubernetes-patch-strategy", "").split(","))
        ),
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
    found = definition(node["$ref"])
    merges = node.get("x-kubernetes-map-type")
    if merges is None or _granular(merges) == found.merges:
        return found
    return Type(kind=found.kind, name=found.name, merges=_granular(merges))


def _scalar(type_name: str, format_name: str) -> Type:
    if format_name == "byte":
        return Type(kind="bytes")
    if type_name in ("string", "boolean", "integer", "number"):
        return Type(kind=type_name, format=format_name)  # type: ignore[arg-type]
    return Type(kind="any")


def _granular(map_type: str) -> Merges:
    return "atomic" if map_type == "atomic" else ""
