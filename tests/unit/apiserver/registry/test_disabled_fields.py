"""Fields that are dropped before an object is stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness import errors
from harness.apiserver.registry import resource_strategies
from harness.apiserver.registry.strategies import dra_kinds
from harness.apiserver.scheme import feature_gates, resources

R = resources
Document = dict[str, Any]


def device_slice(**device: Any) -> Document:
    return {"spec": {"devices": [{"name": "d", **device}]}}


def test_fields_of_gates_that_are_off() -> None:
    document = device_slice(attributes={"a": {"ints": [1]}}, nodeAllocatableResourceMappings={})
    resource_strategies.of(R.SLICES).drop_disabled_fields(document)
    assert document == device_slice(attributes={"a": {}})


@pytest.fixture
def default_gates() -> Iterator[None]:
    yield
    feature_gates.choose(feature_gates.DEFAULTS)


@pytest.mark.usefixtures("default_gates")
def test_list_attributes_are_kept_once_their_gate_is_on() -> None:
    document = device_slice(attributes={"a": {"ints": [1]}}, nodeAllocatableResourceMappings={})
    feature_gates.choose(feature_gates.parse("DRAListTypeAttributes=true"))
    resource_strategies.of(R.SLICES).drop_disabled_fields(document)
    assert document == device_slice(attributes={"a": {"ints": [1]}})


@pytest.mark.parametrize("text", ["DRAListTypeAttribute=true", "DRAListTypeAttributes", "x=1"])
def test_wrong_feature_gates_are_answered_with_the_known_ones(text: str) -> None:
    with pytest.raises(errors.UsageError, match="Known gates: DRAListTypeAttributes"):
        feature_gates.parse(text)


def test_what_is_stored_already_stays() -> None:
    old = device_slice(attributes={"a": {"ints": [1]}}, nodeAllocatableResourceMappings={"cpu": {}})
    document = device_slice(attributes={"b": {"strings": ["x"]}})
    resource_strategies.of(R.SLICES).drop_disabled_fields(document, old)
    assert document == device_slice(attributes={"b": {"strings": ["x"]}})


def test_an_empty_list_of_devices_is_none_unless_there_are_counters() -> None:
    for counters in ({}, {"sharedCounters": [{"name": "c"}]}):
        document: Document = {"spec": {"devices": [], **counters}}
        dra_kinds.drop_empty_devices(document)
        assert ("devices" in document["spec"]) is bool(counters)


def test_what_alpha_gates_add_to_pods() -> None:
    pod: Document = {
        "spec": {"schedulingGroup": {"podGroupName": "g"}, "nodeName": "n"},
        "status": {"nodeAllocatableResourceClaimStatuses": [{}], "phase": "Pending"},
    }
    old = {"spec": dict(pod["spec"]), "status": dict(pod["status"])}
    resource_strategies.of(R.PODS).drop_disabled_fields(pod, old)
    assert pod == old
    resource_strategies.of(R.PODS).drop_disabled_fields(pod)
    assert pod == {"spec": {"nodeName": "n"}, "status": {"phase": "Pending"}}
