"""Environments of containers: compared with what the recorded pods and claims ask for."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.nodes import preparations, started_containers
from harness.history import records
from tests.histories import building, claim_judging, language

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
PLAN = building.plan(
    settings={
        "claim": {"parameters": {"who": "{claim}"}},
        "pools": {"device_class": {"parameters": {"mode": "shared"}}},
    }
)
OWN = {"user_who": "c-1", "admin_mode": "shared", "claim_c_1_gpu": "true"}


def observed(resource: str, document: Any) -> records.Observation:
    return language.observation(resource, 1, document, "ADDED")


def claim(name: str, **more: Any) -> records.Observation:
    opaque = {"driver": "gpu.example", "parameters": {"who": name, **more}}
    devices = {"requests": [{"name": "gpu"}], "config": [{"opaque": opaque}]}
    meta = {"name": name, "namespace": "tests", "uid": f"uid-of-{name}", "resourceVersion": "1"}
    return observed("resourceclaims", {"metadata": meta, "spec": {"devices": devices}})


def pod(*, generated: bool = False) -> records.Observation:
    container = {"name": "work", "resources": {"claims": [{"name": "entry"}]}}
    entry = {"name": "entry", **({} if generated else {"resourceClaimName": "c-1"})}
    statuses = [{"name": "entry", "resourceClaimName": "c-1"}] if generated else []
    document = {
        "metadata": {"name": "p", "namespace": "tests", "uid": "uid-of-p", "resourceVersion": "1"},
        "spec": {"containers": [container], "resourceClaims": [entry]},
        "status": {"resourceClaimStatuses": statuses},
    }
    return observed("pods", document)


def started(**environment: str) -> records.ContainerStarted:
    return records.ContainerStarted(
        node="worker-0",
        namespace="tests",
        pod="p",
        pod_uid="uid-of-p",
        container="work",
        environment=environment,
        ts_ns=2,
    )


def check(*observations: records.Body, ran: list[Any]) -> verdicts.CheckResult:
    reading = preparations.Reading()
    for item in ran:
        reading.add(item)
    judge = started_containers.CONTAINER_PARAMETERS
    given = {preparations.Reading: reading}
    answer = judge.judge(claim_judging.evidence(observations, [judge], of=PLAN, given=given))
    assert isinstance(answer, verdicts.CheckResult)
    return answer


def test_a_pod_and_its_claim_may_be_in_the_final_lists_only() -> None:
    lists = [msgspec.structs.replace(item, type="FINAL") for item in (claim("c-1"), pod())]
    assert check(*lists, ran=[started(**OWN)]).verdict is VALID
    assert check(*lists, ran=[started(**OWN, user_more="1")]).verdict is INVALID


def test_parameters_that_are_no_texts_are_expected_as_json() -> None:
    given = claim("c-1", sharing={"b": 1, "a": [True]})
    told = started(**OWN, user_sharing='{"a":[true],"b":1}')
    assert check(given, pod(), ran=[told]).verdict is VALID
    told = started(**OWN, user_sharing="{'b': 1, 'a': [True]}")
    assert check(given, pod(), ran=[told]).verdict is INVALID


def allocated(*results: tuple[str, str], config: list[Any]) -> records.Observation:
    """Claim c-1 with two requests, of two drivers: `results` are driver and request."""
    requests = [{"name": "gpu"}, {"name": "nic"}]
    granted = [{"driver": d, "pool": "p", "device": "d", "request": r} for d, r in results]
    of_class = {"source": "FromClass", "opaque": {"driver": "nic", "parameters": {"mtu": 9000}}}
    allocation = {"devices": {"results": granted, "config": [of_class]}}
    meta = {"name": "c-1", "namespace": "tests", "uid": "u", "resourceVersion": "1"}
    spec = {"devices": {"requests": requests, "config": config}}
    return observed(
        "resourceclaims", {"metadata": meta, "spec": spec, "status": {"allocation": allocation}}
    )


def user(**used: str) -> records.Observation:
    """Pod p, whose container uses a request of claim c-1, or all."""
    container = {"name": "work", "resources": {"claims": [{"name": "entry", **used}]}}
    meta = {"name": "p", "namespace": "tests", "uid": "uid-of-p", "resourceVersion": "1"}
    spec = {
        "containers": [container],
        "resourceClaims": [{"name": "entry", "resourceClaimName": "c-1"}],
    }
    return observed("pods", {"metadata": meta, "spec": spec})


CONFIG = [
    {"requests": ["gpu/large"], "opaque": {"driver": "gpu", "parameters": {"size": "l"}}},
    {"requests": ["gpu/small"], "opaque": {"driver": "gpu", "parameters": {"size": "s"}}},
    {"opaque": {"driver": "nic", "parameters": {"route": "r"}}},
]
GRANTED = allocated(("gpu", "gpu/small"), ("nic", "nic"), config=CONFIG)
OF_GPU = {"user_size": "s", "claim_c_1_gpu": "true"}
OF_NIC = {"user_route": "r", "admin_mtu": "9000", "claim_c_1_nic": "true"}


@pytest.mark.parametrize(
    ("used", "wanted"),
    [({}, OF_GPU | OF_NIC), ({"request": "gpu"}, OF_GPU), ({"request": "nic"}, OF_NIC)],
)
def test_only_the_requests_of_the_container_and_what_is_for_their_drivers(
    used: dict[str, str], wanted: dict[str, str]
) -> None:
    wanted = wanted | {"admin_mode": "shared"}
    for environment, verdict in ((wanted, VALID), (wanted | {"user_size": "l"}, INVALID)):
        result = check(GRANTED, user(**used), ran=[started(**environment)])
        assert result.verdict is verdict, result.reason


def test_a_claim_is_judged_by_the_devices_that_it_had() -> None:
    document = json.loads(bytes(GRANTED.object)) | {"status": {}}
    freed = observed("resourceclaims", document)
    told = started(**OF_GPU, **OF_NIC, admin_mode="shared")
    assert check(GRANTED, user(), freed, ran=[told]).verdict is VALID


def test_containers_have_what_the_scheduler_has_claimed_for_their_resources() -> None:
    meta = {"name": "p", "namespace": "tests", "uid": "uid-of-p", "resourceVersion": "1"}
    mapping = {"containerName": "work", "requestName": "gpu"}
    extended = {"resourceClaimName": "c-1", "requestMappings": [mapping]}
    pod_of_resource = observed(
        "pods",
        {
            "metadata": meta,
            "spec": {"containers": [{"name": "work"}]},
            "status": {"extendedResourceClaimStatus": extended},
        },
    )
    told = started(**OF_GPU, admin_mode="shared")
    assert check(GRANTED, pod_of_resource, ran=[told]).verdict is VALID
    assert check(GRANTED, pod_of_resource, ran=[started()]).verdict is INVALID
