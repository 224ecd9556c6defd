"""One version of an object: what two witnesses must have in common."""

from typing import Any

import pytest

from harness.checks.witness import witnessed_writes

META = {"name": "a", "uid": "uid-a", "resourceVersion": "1"}
SAME = witnessed_writes.state_of({"metadata": META})


def state(meta: dict[str, Any] | None = None, **fields: Any) -> witnessed_writes.State:
    return witnessed_writes.state_of({"metadata": META | (meta or {}), **fields})


def _held(*names: str) -> dict[str, Any]:
    results = [{"driver": "d", "pool": "p", "device": name} for name in names]
    return {"allocation": {"devices": {"results": results}}}


@pytest.mark.parametrize(
    ("other", "differing", "says_more"),
    [
        (state(), [], False),
        (state({"labels": {"a": "b"}, "managedFields": [{}]}), [], False),
        (state(status={"conditions": [{}]}), [], False),
        (state(status={"reservedFor": [{}]}), [], True),
        (state(spec={"a": 1}), [], True),
        (state({"finalizers": ["a/b"]}), [], True),
        (state({"deletionTimestamp": "t"}), ["metadata"], True),
        (state(spec={"nodeName": "n"}), ["spec"], True),
        (state(status=_held("D1")), ["status"], True),
    ],
)
def test_the_deletion_the_node_and_the_devices_are_compared(
    other: witnessed_writes.State, differing: list[str], says_more: bool
) -> None:
    assert other.differing(SAME) == SAME.differing(other) == differing
    assert other.says_more(SAME) is says_more
