"""Pods that run with an extended resource: each has a claim of its own for it."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.nodes import extended_claims
from harness.checks.observed import folders
from harness.history import records

VALID, UNKNOWN, INVALID = verdicts.Verdict
GPU = "example.com/gpu"
SETTINGS = {
    "claim": {"extended": True},
    "pools": {"device_class": {"name": "gpus", "extended_resource": GPU}},
}
Object = dict[str, Any]
MAPPING = {"containerName": "work", "resourceName": GPU, "requestName": "r"}


def observed(resource: str, version: int, document: Object) -> records.Observation:
    document["metadata"] |= {"namespace": "tests", "resourceVersion": str(version)}
    return records.Observation(
        resource=resource,
        type="ADDED",
        resource_version=version,
        object=msgspec.Raw(json.dumps(document).encode()),
        ts_ns=version,
    )


def pod(version: int = 5, *, phase: str = "Running", **status: Any) -> records.Observation:
    """A pod that asks for two; its status names the claim unless told otherwise."""
    named = {"resourceClaimName": "c", "requestMappings": [MAPPING]}
    container = {"name": "work", "resources": {"requests": {GPU: "2"}}}
    document = {
        "metadata": {"name": "p", "uid": "uid-p"},
        "spec": {"containers": [container]},
        "status": {"phase": phase, "extendedResourceClaimStatus": named, **status},
    }
    return observed("pods", version, document)


def claim(
    version: int = 3, *, owner: str = "uid-p", user: str = "uid-p", devices: int = 2
) -> records.Observation:
    results = [
        {"driver": "d", "pool": "n", "device": f"d{index}", "request": "r"}
        for index in range(devices)
    ]
    document = {
        "metadata": {
            "name": "c",
            "uid": "uid-c",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{"kind": "Pod", "uid": owner, "controller": True}],
        },
        "spec": {"devices": {"requests": [{"name": "r"}]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"name": "p", "uid": user, "resource": "pods"}],
        },
    }
    return observed("resourceclaims", version, document)


def check(*observations: records.Body) -> verdicts.CheckResult:
    seen = extended_claims.ExtendedClaims()
    folders.fold(observations, seen)
    return extended_claims.check(SETTINGS, seen)


def test_a_pod_that_has_everything() -> None:
    result = check(claim(), pod(4, phase="Pending"), pod(5), claim(6, user="another"))
    assert (result.verdict, result.examined_count) == (VALID, 1)
    assert result.reason == "1 pods ran with a claim of their own for their extended resource"


@pytest.mark.parametrize(
    ("observations", "why"),
    [
        ([claim(), pod(extendedResourceClaimStatus=None)], "its status names no claim"),
        ([pod()], "the claim c is not its own"),
        ([claim(owner="uid-q"), pod()], "the claim c is not its own"),
        ([claim(7), pod()], "the claim c is not its own"),
        ([claim(user="uid-q"), pod()], "the claim c is not reserved for it"),
        ([claim(devices=1), pod()], "the claim c has 1 devices, and it needs 2"),
        (
            [claim(), pod(extendedResourceClaimStatus={"resourceClaimName": "c"})],
            "its container work is mapped to no request",
        ),
    ],
)
def test_what_a_pod_lacks(observations: list[records.Body], why: str) -> None:
    result = check(*observations)
    assert (result.verdict, result.violation_count) == (INVALID, 1)
    assert result.reason == f"pod p runs without its extended resource: {why}"
    assert result.violations[0].objects[0].name == "p"


def test_the_reason_counts_the_other_violations() -> None:
    first, second = pod(), pod(6)
    second = msgspec.structs.replace(
        second, object=msgspec.Raw(bytes(second.object).replace(b'"uid-p"', b'"uid-q"'))
    )
    reason = "pod p runs without its extended resource: the claim c is not its own, and 1 more"
    assert check(first, second).reason == reason


def test_a_gap_of_the_observations_is_no_violation() -> None:
    gap = records.Gap(resource="resourceclaims", after_resource_version=1, reason="410", ts_ns=1)
    result = check(gap, pod())
    assert (result.verdict, result.violations) == (UNKNOWN, [])
    assert check(gap, claim(), pod()).verdict is VALID


def test_without_pods_nothing_is_known() -> None:
    assert check(claim(), pod(phase="Pending")).verdict is UNKNOWN
