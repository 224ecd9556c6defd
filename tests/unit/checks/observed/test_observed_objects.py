"""Values that checks derive from claims, pods, slices and rules, and defaults of the API."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks.observed import (
    observations,
    observed_claims,
    observed_cluster,
    observed_metadata,
    observed_pods,
    observed_slices,
)
from harness.model import devices

META: dict[str, Any] = {"name": "x", "uid": "u", "resourceVersion": "7", "namespace": "n"}


# ------------------------------------------------------------------------------------- claims


def exact(**fields: Any) -> observed_claims.ExactRequest:
    return msgspec.convert(fields, observed_claims.ExactRequest)


def test_a_request_asks_for_one_device_unless_it_says_more() -> None:
    request = exact()
    assert (request.count, request.allocation_mode, request.admin_access) == (
        1,
        "ExactCount",
        False,
    )


@pytest.mark.parametrize(
    ("request_", "is_plain"),
    [
        (exact(), True),
        (exact(allocationMode="All"), False),
        (exact(capacity={"requests": {"memory": "1"}}), False),
        (exact(allocationMode="All", capacity={"requests": {}}), False),
    ],
)
def test_only_a_number_of_whole_devices_is_plain(
    request_: observed_claims.ExactRequest, is_plain: bool
) -> None:
    assert request_.is_plain_count is is_plain


def test_requests_of_one_kind_have_the_same_class_and_selectors() -> None:
    assert exact(deviceClassName="gpu").kind == ("gpu",)
    selected = exact(deviceClassName="gpu", selectors=[{"cel": {"expression": "true"}}])
    assert selected.kind == ("gpu", "{'cel': {'expression': 'true'}}")


def test_the_options_of_a_request_are_its_alternatives() -> None:
    one = msgspec.convert({"exactly": {"count": 3}}, observed_claims.Request)
    assert [option.count for option in one.options] == [3]
    several = {"firstAvailable": [{"name": "a", "count": 2}, {"name": "b"}]}
    found = msgspec.convert(several, observed_claims.Request).options
    assert [option.count for option in found] == [2, 1]
    assert observed_claims.Request().options == []


@pytest.mark.parametrize(
    ("managed", "has_allocation"),
    [
        ({"subresource": "status", "fieldsV1": {"f:status": {"f:allocation": {}}}}, True),
        ({"subresource": "", "fieldsV1": {"f:status": {"f:allocation": {}}}}, False),
        ({"subresource": "status", "fieldsV1": {"f:status": {}}}, False),
        ({"subresource": "status", "fieldsV1": {"f:spec": {}}}, False),
        ({"subresource": "status"}, False),
    ],
)
def test_a_manager_owns_an_allocation(managed: dict[str, Any], has_allocation: bool) -> None:
    found = msgspec.convert(managed, observed_claims.ManagedFields)
    assert found.has_allocation is has_allocation


def test_a_claim_without_an_allocation_has_no_devices_and_no_manager() -> None:
    claim = msgspec.convert({"metadata": META}, observed_claims.Claim)
    assert (claim.results, claim.manager) == ([], "")


def raw(**fields: Any) -> observed_claims.Claim:
    document = json.dumps({"metadata": META, **fields})
    return observations.decoded(msgspec.json.decode(document, type=observations.RawClaim))


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"allocation": None},
        {"reservedFor": [{"name": "p", "uid": "u", "resource": "pods"}]},
        {"devices": [{"driver": "d", "pool": "p", "device": "x"}]},
        {
            "allocation": {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}},
            "reservedFor": [{"name": "p"}],
            "devices": [{"driver": "d", "pool": "p", "device": "x", "conditions": []}],
        },
    ],
)
def test_a_claim_with_undecoded_parts_has_the_same_status(status: dict[str, Any]) -> None:
    claim = raw(status=status)
    assert claim.status == msgspec.convert(status, observed_claims.ClaimStatus)
    assert claim.spec == observed_claims.ClaimSpec()


def test_managers_are_decoded_when_they_are_asked_for() -> None:
    assert raw().metadata.managers == ()
    wrong = msgspec.json.decode(
        json.dumps({"metadata": META | {"managedFields": [1]}}), type=observations.RawClaim
    )
    with pytest.raises(observed_metadata.ObjectError):
        _ = observations.decoded(wrong).metadata.managers
    for managed in ([], None):
        meta = META | {"managedFields": managed}
        claim = msgspec.json.decode(json.dumps({"metadata": meta}), type=observations.RawClaim)
        assert list(claim.metadata.managers) == []


# ------------------------------------------------------------------------------- owners, pods


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        (None, None),
        ([{"uid": "p", "kind": "Pod", "controller": True}], "p"),
        ([{"uid": "p", "kind": "Pod"}], None),
        ([{"uid": "j", "kind": "Job", "controller": True}], None),
        ([{"uid": "j", "kind": "Job"}, {"uid": "p", "kind": "Pod", "controller": True}], "p"),
    ],
)
def test_a_claim_was_generated_for_the_pod_that_controls_it(
    owners: list[dict[str, Any]] | None, owner: str | None
) -> None:
    meta = msgspec.convert(META | {"ownerReferences": owners}, observed_metadata.Meta)
    assert meta.owner == owner


@pytest.mark.parametrize(
    ("phase", "has_ended"),
    [("", False), ("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)],
)
def test_a_pod_has_ended_in_its_last_phases(phase: str, has_ended: bool) -> None:
    pod = msgspec.convert({"metadata": META, "status": {"phase": phase}}, observed_pods.Pod)
    assert pod.has_ended is has_ended


def test_the_names_of_the_claims_of_a_pod_come_from_its_spec_and_its_status() -> None:
    entries = [
        {"name": "own", "resourceClaimName": "mine"},
        {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "none", "resourceClaimTemplateName": "t"},
        {"name": "later", "resourceClaimTemplateName": "t"},
    ]
    made = [{"name": "made", "resourceClaimName": "made-1"}, {"name": "none"}]
    pod = msgspec.convert(
        {
            "metadata": META,
            "spec": {"resourceClaims": entries},
            "status": {"resourceClaimStatuses": made},
        },
        observed_pods.Pod,
    )
    assert pod.claim_names == {"own": "mine", "made": "made-1"}
    assert msgspec.convert({"metadata": META}, observed_pods.Pod).claim_names == {}


# ----------------------------------------------------------------------------- slices, taints


@pytest.mark.parametrize(
    ("effect", "is_blocking"),
    [("NoSchedule", True), ("NoExecute", True), ("None", False), ("", False)],
)
def test_taints_of_some_effects_keep_devices_from_being_allocated(
    effect: str, is_blocking: bool
) -> None:
    assert observed_slices.Taint(effect=effect).is_blocking is is_blocking


def test_a_pool_is_one_slice_of_generation_0_unless_it_says_more() -> None:
    pool = msgspec.convert({"name": "p"}, observed_slices.Pool)
    assert (pool.generation, pool.resource_slice_count) == (0, 1)


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        ({}, True),
        ({"driver": "d"}, True),
        ({"driver": "d", "pool": "p", "device": "x"}, True),
        ({"driver": "e"}, False),
        ({"driver": "d", "pool": "q"}, False),
        ({"device": "y"}, False),
    ],
)
def test_a_rule_is_about_the_devices_that_fit_all_it_names(
    selector: dict[str, str], selects: bool
) -> None:
    found = msgspec.convert(selector, observed_cluster.TaintSelector)
    assert found.selects(devices.DeviceID("d", "p", "x")) is selects


# ------------------------------------------------------------------------------ observations


@pytest.mark.parametrize(("kind", "is_gone"), [("DELETED", True), ("MODIFIED", False)])
def test_an_observation_has_its_object_byte_for_byte(kind: str, is_gone: bool) -> None:
    content = json.dumps({"metadata": META, "status": {"phase": "Running"}})
    line = (
        f'{{"record":"observation","resource":"pods","type":"{kind}",'
        f'"resource_version":7,"ts_ns":5,"object":{content}}}'
    )
    seen = observations.decode_line(line.encode())
    assert seen.is_gone is is_gone
    assert seen.content == content.encode()


def test_a_line_with_a_long_head_is_decoded_like_any_other() -> None:
    content = json.dumps({"metadata": META})
    line = (
        f'{{"record":"observation","resource":"{"l" * 400}","type":"ADDED",'
        f'"resource_version":7,"ts_ns":5,"object":{content}}}'
    ).encode()
    assert observations.decode_line(line).line == line
