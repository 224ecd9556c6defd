"""The server's data on Go types against the tags of the fields in k8s.io/api, k8s.io/apimachinery
and k8s.io/apiextensions-apiserver 0.36.4.

`go_fields.json.gz` was printed by `tests/e2e/client-go` (`client-go fields`), whose test says when
it is out of date. Copyright The Kubernetes Authors, Apache License 2.0.
"""

import gzip
import json
import pathlib
from typing import Any

import pytest

from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import protobuf_field_numbers

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
    "core.v1.NodeSelector": {"nodeSelectorTerms"},
    "resource.v1.DeviceClaim": {"requests"},
    "resource.v1beta1.DeviceClaim": {"requests"},
    "resource.v1beta2.DeviceClaim": {"requests"},
    "resource.v1.ResourceSliceSpec": {"devices"},
    "resource.v1beta2.ResourceSliceSpec": {"devices"},
    # And what v1 has by pointers in versions that have them by value.
    "resource.v1beta1.ResourceSliceSpec": {"allNodes", "devices", "nodeName"},
}


def served() -> dict[str, api_types.Type]:
    """All types in what is served."""
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
    assert len(TYPES) > 600
    assert not set(TYPES) - set(GO)


@pytest.mark.parametrize("name", TYPES)
def test_the_fields_and_their_numbers(name: str) -> None:
    expected = {field: tuple(tags["numbers"]) for field, tags in GO[name].items()}
    assert set(TYPES[name].fields) - {"kind", "apiVersion"} == set(expected) - {
        "kind",
        "apiVersion",
    }
    assert protobuf_field_numbers.paths(name) == expected


@pytest.mark.parametrize("name", TYPES)
def test_how_the_fields_are_held(name: str) -> None:
    lists_and_older = MORE_THAN_THE_TAGS.get(name.removeprefix("io.k8s.api."), set())
    for at, tags in GO[name].items():
        field = TYPES[name].field(at)
        omits_zero = "omitzero" in tags["omits"]
        is_value_struct = field.type.kind in STRUCTS and not tags["pointer"]
        never_omitted = is_value_struct or "omitempty" not in tags["omits"]
        if not omits_zero:  # which is as good as a pointer
            assert field.pointer == (tags["pointer"] or at in lists_and_older), at
        assert field.always == (never_omitted and not omits_zero), at


@pytest.mark.parametrize("name", TYPES)
def test_what_the_fields_hold(name: str) -> None:
    for at, tags in GO[name].items():
        held = tags["go"].removeprefix("*")
        field = TYPES[name].field(at)
        assert KINDS.get(held, field.type.kind) == field.type.kind, at
        assert not held.startswith("int") or held in (field.type.format, "intstr.IntOrString"), at
