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
)
from harness.model import devices
from tests.histories import language

META: dict[str, Any] = {"name": "x", "uid": "u", "resourceVersion": "7", "namespace": "n"}


# ------------------------------------------------------------------------------------- claims


def exact(**fields: Any) -> observed_claims.ExactRequest:
    return msgspec.convert(fields, observed_claims.ExactRequest)


def test_requests_of_one_kind_have_the_same_class_and_selectors() -> None:
    assert exact(deviceClassName="gpu").kind == ("gpu",)
    selected = exact(deviceClassName="gpu", selectors=[{"cel": {"expression": "true"}}])
    assert selected.kind == ("gpu", "{'cel': {'expression': 'true'}}")


def test_the_options_of_a_request_are_its_alternatives() -> None:
    one = msgspec.convert({"name": "r", "exactly": {"count": 3}}, observed_claims.Request)
    assert {name: option.number for name, option in one.options.items()} == {"r": 3}
    either = [{"name": "a", "count": 2}, {"name": "b", "allocationMode": "All"}]
    several = msgspec.convert({"name": "r", "firstAvailable": either}, observed_claims.Request)
    found = {name: option.number for name, option in several.options.items()}
    assert found == {"r/a": 2, "r/b": None}
    assert observed_claims.Request().options == {}


def test_a_claim_without_an_allocation_has_no_devices_and_no_manager() -> None:
    claim = msgspec.convert({"metadata": META}, observed_claims.Claim)
    assert (claim.results, claim.manager) == ([], "")


def raw(**fields: Any) -> observed_claims.Claim:
    document = {"metadata": META, **fields}
    record = language.observation(observations.CLAIMS, 7, document, "ADDED", ts_ns=1)
    claim: observed_claims.Claim = observations.decode(record).object
    return claim


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
    plain = msgspec.convert(status, observed_claims.ClaimStatus)
    assert msgspec.structs.asdict(claim.status) == msgspec.structs.asdict(plain)
    assert claim.spec == observed_claims.ClaimSpec()


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
