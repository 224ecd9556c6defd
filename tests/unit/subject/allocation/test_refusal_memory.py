"""The limits of a memory of refusals; tests/model_based compares its answers with a full search."""

from typing import Any

import pytest

from harness.subject.allocation import allocated_states, inventories, refusal_memory
from tests.support import api_objects

Object = dict[str, Any]
CLASSES = {api_objects.CLASS: api_objects.device_class()}
STATE = allocated_states.AllocatedState()
SNAPSHOT = inventories.snapshot_of([api_objects.slice_of("a")])


def refused(
    memory: refusal_memory.RefusalMemory, count: int, classes: Object = CLASSES
) -> refusal_memory.Refused:
    claim = api_objects.claim("c", requests=[api_objects.exactly(count=count)])
    return memory.refused([claim], classes, STATE, SNAPSHOT)


def test_another_class_of_the_same_name_is_another_kind() -> None:
    memory = refusal_memory.RefusalMemory()
    refused(memory, 1)["worker-0"] = api_objects.node()
    changed = {api_objects.CLASS: api_objects.device_class("true")}
    assert refused(memory, 1, changed) == {}


def test_the_kind_that_was_not_used_for_longest_is_forgotten() -> None:
    memory = refusal_memory.RefusalMemory()
    for count in range(1, refusal_memory.KINDS_MAX + 1):
        refused(memory, count)["worker-0"] = api_objects.node()
    refused(memory, 1)
    refused(memory, 100)
    assert refused(memory, 1)
    assert not refused(memory, 2)


def test_nodes_without_end_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_memory, "NODES_MAX", 2)
    memory = refusal_memory.RefusalMemory()
    for index in range(3):
        refused(memory, 1)[f"worker-{index}"] = api_objects.node()
    assert refused(memory, 1) == {}
