"""PriorityClasses."""

from typing import Any

import pytest

from harness.apiserver.validation.core import small_kinds

Document = dict[str, Any]


def of(name: str = "p", value: int = 1, **fields: Any) -> Document:
    return {"metadata": {"name": name}, "value": value, **fields}


CASES = [
    (of(preemptionPolicy="Never"), []),
    (of("system-node-critical", 2_000_001_000), []),
    (of(value=1_000_000_001), [("value", "Forbidden")]),
    (of("system-x"), [("metadata.name", "Forbidden")]),
    (of("system-node-critical"), [("metadata.name", "Forbidden")]),
    (
        of("system-cluster-critical", 2_000_000_000, globalDefault=True),
        [("metadata.name", "Forbidden")],
    ),
    (of(preemptionPolicy=""), [("preemptionPolicy", "Required")]),
    (of(preemptionPolicy="x"), [("preemptionPolicy", "NotSupported")]),
]


@pytest.mark.parametrize(("document", "wrong"), CASES)
def test_new_classes(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.priority_class(document)) == wrong


def test_neither_value_nor_policy_changes(fields: Any) -> None:
    old = of(preemptionPolicy="Never")
    assert fields(small_kinds.priority_class_change(old | {"description": "d"}, old)) == []
    new = of(value=2, preemptionPolicy="PreemptLowerPriority")
    wrong = [("value", "Forbidden"), ("preemptionPolicy", "Invalid")]
    assert fields(small_kinds.priority_class_change(new, old)) == wrong
