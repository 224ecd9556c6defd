"""Environment variables and the downward API."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import environment

Document = dict[str, Any]


def field(path: str) -> Document:
    return {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}


def amount(**fields: Any) -> Document:
    return {"resourceFieldRef": {"resource": "limits.cpu", **fields}}


AT = "e[0].valueFrom"
SOURCES = [
    (field("status.podIP"), []),
    (field("metadata.labels['a/b']"), []),
    (field(""), [(f"{AT}.fieldRef.fieldPath", "Required")]),
    (field("metadata.labels['-']"), [(f"{AT}.fieldRef", "Invalid")]),
    (field("metadata.name['a']"), [(f"{AT}.fieldRef.fieldPath", "Invalid")]),
    (field("metadata.labels"), [(f"{AT}.fieldRef.fieldPath", "NotSupported")]),
    (field("status.nothing"), [(f"{AT}.fieldRef.fieldPath", "Invalid")]),
    (amount(divisor="1m"), []),
    (amount(resource="requests.hugepages-2Mi", divisor="1Mi"), []),
    (amount(divisor="2"), [(f"{AT}.resourceFieldRef.divisor", "Invalid")]),
    (amount(resource="limits.x"), [(f"{AT}.resourceFieldRef.resource", "NotSupported")]),
    ({"configMapKeyRef": {"name": "a", "key": "k"}}, []),
    ({"secretKeyRef": {"name": "a"}}, [(f"{AT}.secretKeyRef.key", "Required")]),
    ({"secretKeyRef": {"name": "A", "key": "k"}}, [(f"{AT}.secretKeyRef.name", "Invalid")]),
    ({}, [(AT, "Invalid")]),
    (field("metadata.name") | amount(), [(AT, "Invalid")]),
]


@pytest.mark.parametrize(("source", "wrong"), SOURCES)
def test_sources(fields: Any, source: Document, wrong: list[Any]) -> None:
    assert fields(environment.env([{"name": "A", "valueFrom": source}], "e")) == wrong


VARIABLES = [
    ({"name": "1 a.b", "value": "x"}, []),
    ({"value": "x"}, [("e[0].name", "Required")]),
    ({"name": "a=b"}, [("e[0].name", "Invalid")]),
    ({"name": "\u00e9"}, [("e[0].name", "Invalid")]),
    ({"name": "A", "value": "x", "valueFrom": field("metadata.name")}, [(AT, "Invalid")]),
]


@pytest.mark.parametrize(("variable", "wrong"), VARIABLES)
def test_variables(fields: Any, variable: Document, wrong: list[Any]) -> None:
    assert fields(environment.env([variable], "e")) == wrong


OBJECTS = [
    ({"prefix": "P", "configMapRef": {"name": "a-"}}, []),
    ({"prefix": "=", "secretRef": {"name": "a"}}, [("f[0].prefix", "Invalid")]),
    ({"secretRef": {}}, [("f[0].secretRef.name", "Required")]),
    ({"secretRef": {"name": "A"}}, [("f[0].secretRef.name", "Invalid")]),
    ({}, [("f", "Invalid")]),
    ({"secretRef": {"name": "a"}, "configMapRef": {"name": "a"}}, [("f", "Invalid")]),
]


@pytest.mark.parametrize(("source", "wrong"), OBJECTS)
def test_objects(fields: Any, source: Document, wrong: list[Any]) -> None:
    assert fields(environment.env_from([source], "f")) == wrong
