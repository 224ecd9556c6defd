"""Faults that an earlier one hides, and those that it leaves something for."""

from typing import Any

import pytest

from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import traffic_fault

LAG = {"kind": "delay-events", "seconds": 0.5, "on": {"resource": "resourceclaims"}}
BROKEN = {"kind": "expire-watch", "on": {"resource": "resourceclaims"}}
LOST = {
    "kind": "lose-response",
    "on": {"verbs": ["update"], "resource": "resourceclaims", "subresource": "status"},
}


def hiding(first: dict[str, Any], second: dict[str, Any]) -> bool:
    one, other = (fault_kinds.one(keys) for keys in (first, second))
    assert isinstance(one, traffic_fault.TrafficFault)
    assert isinstance(other, traffic_fault.TrafficFault)
    return one.hides(other)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LAG, BROKEN),
        (LAG, BROKEN | {"start_s": 3, "every": 5}),
        (LAG | {"on": {}}, BROKEN),
        (LOST, {**LOST, "kind": "truncate-response"}),
        (LOST | {"on": {"resource": "resourceclaims"}}, LOST),
        (LAG, LAG | {"event_types": ["DELETED"]}),
    ],
)
def test_it_is_hidden(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert hiding(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (BROKEN | {"every": 20}, LAG),
        (BROKEN | {"times": 3}, LAG),
        (BROKEN | {"skip": 3}, LAG),
        (BROKEN | {"probability": 0.5}, LAG),
        (LAG | {"duration_s": 3}, BROKEN),
        (LAG | {"start_s": 3}, BROKEN),
        (LAG | {"start_after": {"fault": "second"}}, BROKEN),
        (LAG | {"on": {"resource": "pods"}}, BROKEN),
        (LAG | {"on": {"role": "kubelet"}}, BROKEN),
        (LAG | {"event_types": ["DELETED"]}, BROKEN),
        (LAG, {"kind": "starve-bookmarks"}),
        ({"kind": "starve-bookmarks"}, LAG),
        (LOST, LOST | {"on": {"resource": "resourceclaims"}}),
        (LOST, {**LOST, "kind": "lose-request"}),
    ],
)
def test_something_is_left_for_it(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert not hiding(first, second)
