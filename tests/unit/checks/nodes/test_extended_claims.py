"""Pods that run with an extended resource: each has a claim of its own for it."""

from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.nodes import extended_claims
from harness.history import records
from tests.histories import building, claim_judging, judged_runs, language
from tests.support import text_tables

VALID, UNKNOWN, INVALID = verdicts.Verdict
GPU = "example.com/gpu"
SETTINGS = {
    "claim": {"extended": True},
    "pools": {"device_class": {"name": "gpus", "extended_resource": GPU}},
}
Object = dict[str, Any]
NAMED_B = {"extendedResourceClaimStatus": {"resourceClaimName": "b"}}
MAPPING = {"containerName": "work", "resourceName": GPU, "requestName": "r"}


def observed(resource: str, version: int, document: Object) -> records.Observation:
    document["metadata"]["namespace"] = "tests"
    return language.observation(resource, version, document, "ADDED")


def pod(version: int = 5, *, phase: str = "Running", **status: Any) -> records.Observation:
    """A pod that asks for two; its status names the claim unless told otherwise."""
    named = {"resourceClaimName": "c", "requestMappings": [MAPPING]}
    container = {"name": "work", "resources": {"requests": {GPU: "2"}}}
    document = {
        "metadata": {"name": "p", "uid": "uid-p"},
        "spec": {"containers": [container], "nodeName": "n"},
        "status": {"phase": phase, "extendedResourceClaimStatus": named, **status},
    }
    return observed("pods", version, document)


def claim(
    version: int = 3,
    *,
    owner: str = "uid-p",
    user: str = "uid-p",
    devices: int = 2,
    note: str = "resource.kubernetes.io/extended-resource-claim",
) -> records.Observation:
    results = [
        {"driver": "d", "pool": "n", "device": f"d{index}", "request": "r"}
        for index in range(devices)
    ]
    document = {
        "metadata": {
            "name": "c",
            "uid": "uid-c",
            "annotations": {note: "true"},
            "ownerReferences": [{"kind": "Pod", "uid": owner, "controller": True}],
        },
        "spec": {"devices": {"requests": [{"name": "r"}]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"name": "p", "uid": user, "resource": "pods"}],
        },
    }
    return observed("resourceclaims", version, document)


def gone(version: int) -> records.Observation:
    return msgspec.structs.replace(claim(version), type="DELETED")


def bound(version: int, **status: Any) -> records.Observation:
    return pod(version, phase="Pending", **status)


def _pod_of(mappings: str, containers: str, name: str = "p") -> records.Observation:
    """A pod like `a:r b:s` and `a=1 b=2`: containers that are mapped to requests, and that ask for
    as many devices. Init containers are `i`, sidecars are `s`.
    """

    def container(text: str) -> Object:
        name, _, amount = text.partition("=")
        asked: Object = {"name": name, "resources": {"requests": {GPU: amount}}}
        return asked | ({"restartPolicy": "Always"} if name == "s" else {})

    made = [
        {"containerName": name, "resourceName": GPU, "requestName": request}
        for name, request in (item.split(":") for item in mappings.split())
    ]
    named = {"resourceClaimName": "c", "requestMappings": made}
    listed = containers.split()
    spec = {
        "initContainers": [container(item) for item in listed if item[0] in "is"],
        "containers": [container(item) for item in listed if item[0] not in "is"],
    }
    status = {"phase": "Running", "extendedResourceClaimStatus": named}
    meta = {"name": name, "uid": f"uid-{name}"}
    return observed("pods", 5, {"metadata": meta, "spec": spec, "status": status})


GAP = language.gap("pods", 1)


def check(*observations: records.Body) -> verdicts.CheckResult:
    judge, plan = extended_claims.CHECK, building.plan(settings=SETTINGS)
    return judged_runs.examined(judge.judge(claim_judging.evidence(observations, [judge], of=plan)))


@pytest.mark.parametrize(
    ("observations", "why"),
    [
        ([claim(), pod(extendedResourceClaimStatus=None)], "its status names no claim"),
        ([pod()], "the claim c is not there"),
        ([claim(owner="uid-q"), pod()], "the claim c is not its own"),
        ([claim(7), pod()], "the claim c is not there"),
        ([claim(note="another"), pod()], "the claim c is not there"),
        ([claim(3), claim(4, devices=1), pod()], "the claim c has 1 devices, and it needs 2"),
        ([claim(), gone(4), pod()], "the claim c is not there"),
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


@pytest.mark.parametrize(
    ("observations", "verdict", "why"),
    [
        ([GAP, claim(), pod()], VALID, "1 pods ran with a claim of their own"),
        ([GAP, pod()], UNKNOWN, "the observations have a gap; otherwise pod p runs without its"),
        ([_pod_of("", "a=0")], UNKNOWN, "no pod with an extended resource was seen Running"),
        ([claim(), pod(), _pod_of("", "a=0", name="q")], VALID, "1 pods ran"),
    ],
)
def test_what_is_examined(observations: list[records.Body], verdict: Any, why: str) -> None:
    result = check(*observations)
    assert (result.verdict, result.violation_count) == (verdict, 0)
    assert result.reason.startswith(why)


@pytest.mark.parametrize(
    ("observations", "told"),
    [
        ([claim(), pod(5), pod(6)], ""),
        ([claim(), pod(5), gone(6), pod(7)], ""),  # what becomes of its claim is judged elsewhere
        ([claim(), pod(5), pod(6, **NAMED_B)], "pod p names the claim b in its status, which is"),
        ([claim(), bound(4, **NAMED_B), pod(5), pod(6)], ""),  # the name of an attempt that failed
        ([claim(), bound(4, **NAMED_B), pod(5), gone(6), pod(7, **NAMED_B)], "pod p names the"),
    ],
)
def test_a_status_that_comes_to_name_a_claim_that_is_gone(
    observations: list[records.Body], told: str
) -> None:
    result = check(*observations)
    assert result.verdict is (INVALID if told else VALID), result.reason
    assert told in result.reason


# --------------------------------------------------------------------------- the mappings


def _claim_of(**requests: int) -> records.Observation:
    made = claim(devices=0)
    document = msgspec.json.decode(made.object)
    document["spec"]["devices"]["requests"] = [{"name": name} for name in requests]
    document["status"]["allocation"]["devices"]["results"] = [
        {"driver": "d", "pool": "n", "device": f"{name}{index}", "request": name}
        for name, count in requests.items()
        for index in range(count)
    ]
    return observed("resourceclaims", 3, document)


@pytest.mark.parametrize(
    ("mappings", "containers", "held", "why"), text_tables.cases(__file__, "extended_mappings.txt")
)
def test_each_container_has_the_devices_that_it_asks_for(
    mappings: str, containers: str, held: str, why: str
) -> None:
    devices = {name: int(count) for name, count in (item.split("=") for item in held.split())}
    result = check(_claim_of(**devices), _pod_of(mappings, containers))
    assert result.verdict is (INVALID if why else VALID)
    assert why in result.reason


def test_classes_of_files_have_the_names_that_a_shared_cluster_gives_them() -> None:
    files = {"imported": {"classes": {"gpu": "vendor.com/gpu", "nic": ""}}}
    alone = extended_claims.ExtendedResource({"pools": files}).names
    shared = extended_claims.ExtendedResource({"pools": {**files, "owner": "ab12"}}).names
    prefix = "deviceclass.resource.kubernetes.io"
    assert alone["gpu"] == {"vendor.com/gpu", f"{prefix}/gpu"}
    assert shared["gpu-ab12"] == {"ab12.vendor.com/gpu", f"{prefix}/gpu-ab12"}
    assert shared["nic-ab12"] == {f"{prefix}/nic-ab12"}
