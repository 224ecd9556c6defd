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
    feature_gates.reset()


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


def test_coordinated_elections_are_off() -> None:
    lease = {"spec": {"holderIdentity": "a", "strategy": "x", "preferredHolder": "b"}}
    resource_strategies.of(R.LEASES).drop_disabled_fields(lease)
    assert lease == {"spec": {"holderIdentity": "a"}}


def test_reports_on_devices_that_are_gone() -> None:
    def claim(*devices: str, reports: tuple[str, ...]) -> Document:
        def named(names: tuple[str, ...]) -> list[Document]:
            return [{"driver": "d", "pool": "p", "device": name} for name in names]

        allocation = {"devices": {"results": named(devices)}} if devices else None
        return {"status": {"allocation": allocation, "devices": named(reports)}}

    old = claim("a", "b", reports=("a", "b"))
    kept = claim("b", reports=("a", "b", "c"))
    dra_kinds.drop_stale_reports(kept, old)
    assert kept == claim("b", reports=("b", "c"))
    nothing = claim(reports=("a", "b"))
    dra_kinds.drop_stale_reports(nothing, old)
    assert "devices" not in nothing["status"]


def test_an_empty_list_of_requests_is_none_once_it_is_stored(store: Any) -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": []}}}
    made = store.create(R.CLAIMS, "default", claim, manager="m").document()
    assert made["spec"] == {"devices": {"requests": None}}
    spec = {"spec": {"devices": {"requests": []}}}
    made = store.create(R.CLAIM_TEMPLATES, "default", {"metadata": {"name": "t"}, "spec": spec})
    assert made.document()["spec"]["spec"] == {"devices": {"requests": None}}


def test_taints_get_a_date_in_slices_and_rules(store: Any) -> None:
    taint = {"key": "a", "effect": "NoExecute"}
    rule = {"metadata": {"name": "r"}, "spec": {"taint": dict(taint)}}
    made = store.create(R.TAINT_RULES, "", rule).document()
    assert made["spec"]["taint"]["timeAdded"].startswith("2026-")
    spec = {
        "driver": "d",
        "nodeName": "n",
        "pool": {"name": "p", "resourceSliceCount": 1},
        "devices": [{"name": "d", "taints": [{**taint, "timeAdded": "2024-01-01T00:00:00Z"}]}],
    }
    made = store.create(R.SLICES, "", {"metadata": {"name": "s"}, "spec": spec}).document()
    assert made["spec"]["devices"][0]["taints"][0]["timeAdded"] == "2024-01-01T00:00:00Z"


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
