"""PriorityClasses, leases and namespaces."""

from typing import Any

import pytest

from harness.apiserver.registry import resource_strategies
from harness.apiserver.scheme import resources
from harness.apiserver.validation.core import small_kinds

Document = dict[str, Any]


def priority_class(name: str = "p", value: int = 1, **fields: Any) -> Document:
    return {"metadata": {"name": name}, "value": value, **fields}


CASES = [
    (priority_class(preemptionPolicy="Never"), []),
    (priority_class("system-node-critical", 2_000_001_000), []),
    (priority_class(value=1_000_000_001), [("value", "Forbidden")]),
    (priority_class("system-x"), [("metadata.name", "Forbidden")]),
    (priority_class("system-node-critical"), [("metadata.name", "Forbidden")]),
    (
        priority_class("system-cluster-critical", 2_000_000_000, globalDefault=True),
        [("metadata.name", "Forbidden")],
    ),
    (priority_class(preemptionPolicy=""), [("preemptionPolicy", "Required")]),
    (priority_class(preemptionPolicy="x"), [("preemptionPolicy", "NotSupported")]),
]


@pytest.mark.parametrize(("document", "wrong"), CASES)
def test_new_classes(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.priority_class(document)) == wrong


def test_neither_value_nor_policy_changes(fields: Any) -> None:
    old = priority_class(preemptionPolicy="Never")
    assert fields(small_kinds.priority_class_change(old | {"description": "d"}, old)) == []
    new = priority_class(value=2, preemptionPolicy="PreemptLowerPriority")
    wrong = [("value", "Forbidden"), ("preemptionPolicy", "Invalid")]
    assert fields(small_kinds.priority_class_change(new, old)) == wrong


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"holderIdentity": "", "leaseDurationSeconds": 15, "leaseTransitions": 0}, []),
        ({"leaseDurationSeconds": 0}, [("spec.leaseDurationSeconds", "Invalid")]),
        ({"leaseTransitions": -1}, [("spec.leaseTransitions", "Invalid")]),
    ],
)
def test_leases(fields: Any, spec: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.lease({"spec": spec})) == wrong


def test_finalizers_are_known_or_have_a_domain(fields: Any) -> None:
    found = {"spec": {"finalizers": ["kubernetes", "a.b/c", "other"]}}
    assert fields(small_kinds.namespace(found)) == [("spec.finalizers", "Invalid")]


def test_the_servers_own_finalizer_joins_others() -> None:
    document: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b/c"]}}
    resource_strategies.of(resources.NAMESPACES).prepare_for_create(document, now="")
    assert document["spec"]["finalizers"] == ["a.b/c", "kubernetes"]
