"""The server's data on Go types against the tags of the fields in k8s.io/api, k8s.io/apimachinery
and k8s.io/apiextensions-apiserver 0.36.4.

`go_fields.json.gz` was printed by `tests/e2e/client-go` (`client-go fields`), whose test says when
it is out of date. Copyright The Kubernetes Authors, Apache License 2.0.
"""

import gzip
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import protobuf

FIELDS_FILE = pathlib.Path(__file__).with_name("go_fields.json.gz")
GO: dict[str, dict[str, Any]] = json.loads(gzip.decompress(FIELDS_FILE.read_bytes()))
KINDS = {
    "string": "string", "bool": "boolean", "int32": "integer", "int64": "integer", "float64": "number", "[]uint8": "bytes",
    "resource.Quantity": "quantity", "intstr.IntOrString": "int_or_string", "v1.Time": "time", "v1.MicroTime": "micro_time",
    "runtime.RawExtension": "any", "v1.FieldsV1": "any", "v1.JSON": "any",
}  # fmt: skip
STRUCTS = ("object", "quantity", "int_or_string", "time", "micro_time", "any")
"""Kinds of fields that `omitempty` never omits."""
ELSEWHERE = "io.k8s.kube-aggregator."
"""Types of a module that programs seldom need."""
MORE_THAN_THE_TAGS = {
    # The server tells an empty list of these from none.
    "core.v1.NodeSelector.nodeSelectorTerms",
    "resource.v1.DeviceClaim.requests",
    "resource.v1beta1.DeviceClaim.requests",
    "resource.v1beta2.DeviceClaim.requests",
    "resource.v1.ResourceSliceSpec.devices",
    "resource.v1beta2.ResourceSliceSpec.devices",
    # And what v1 has by pointers in versions that have them by value.
    "resource.v1beta1.ResourceSliceSpec.allNodes",
    "resource.v1beta1.ResourceSliceSpec.devices",
    "resource.v1beta1.ResourceSliceSpec.nodeName",
}


def served() -> dict[str, api_types.Type]:
    found: dict[str, api_types.Type] = {}
    for item in (*resources.ALL, *resources.OPTIONAL):
        collect(api_types.of(item), found)
        if "list" in item.verbs:
            collect(api_types.of_kind(item.group, item.version, f"{item.kind}List"), found)
    for kind in ("DeleteOptions", "Status", "WatchEvent"):
        collect(api_types.of_kind("", "v1", kind), found)
    return {name: kind for name, kind in found.items() if not name.startswith(ELSEWHERE)}


def collect(kind: api_types.Type, found: dict[str, api_types.Type]) -> None:
    if kind.item is not None:
        collect(kind.item, found)
    elif kind.kind == "object" and kind.name not in found:
        found[kind.name] = kind
        for field in kind.fields.values():
            collect(field.type, found)


TYPES = served()


def test_there_are_enough() -> None:
    assert len(TYPES) > 580
    assert not set(TYPES) - set(GO)


def test_the_fields_and_their_numbers() -> None:
    of_all_kinds = {"kind", "apiVersion"}
    for name, kind in TYPES.items():
        expected = {field: tuple(tags["numbers"]) for field, tags in GO[name].items()}
        assert set(kind.fields) - of_all_kinds == set(expected) - of_all_kinds, name
        assert protobuf.paths(name) == expected, name


def fields() -> Iterator[tuple[str, api_types.Field, dict[str, Any]]]:
    """Yield the path of each field, the server's data on it, and its tags."""
    for name, kind in TYPES.items():
        for at, tags in GO[name].items():
            yield f"{name.removeprefix('io.k8s.api.')}.{at}", kind.fields[at], tags


def test_how_the_fields_are_held() -> None:
    for path, field, tags in fields():
        omits_zero = "omitzero" in tags["omits"]
        is_value_struct = field.type.kind in STRUCTS and not tags["pointer"]
        never_omitted = is_value_struct or "omitempty" not in tags["omits"]
        if not omits_zero:  # which is as good as a pointer
            assert field.pointer == (tags["pointer"] or path in MORE_THAN_THE_TAGS), path
        assert field.always == (never_omitted and not omits_zero), path


def test_what_the_fields_hold() -> None:
    for path, field, tags in fields():
        held = tags["go"].removeprefix("*")
        kind = field.type
        assert KINDS.get(held, kind.kind) == kind.kind, path
        assert not held.startswith("int") or held in (kind.format, "intstr.IntOrString"), path
