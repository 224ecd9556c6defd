"""How many devices containers ask for by extended resources, and which claims are made for them."""

from typing import Any

import msgspec
import pytest

from harness.checks.nodes import extended_resources
from harness.checks.observed import observed_claims, observed_pods

GPU, IMPLICIT = "example.com/gpu", "deviceclass.resource.kubernetes.io/gpus"
RESOURCE = extended_resources.ExtendedResource(
    {"pools": {"device_class": {"name": "gpus", "extended_resource": GPU}}}
)
MARK = {"resource.kubernetes.io/extended-resource-claim": "true"}


@pytest.mark.parametrize(
    ("requests", "amount"),
    [
        ({}, 0),
        ({GPU: "2"}, 2),
        ({IMPLICIT: "2"}, 2),
        ({GPU: "2", IMPLICIT: "3"}, 5),
        ({GPU: "2k"}, 0),
        ({"example.com/other": "2"}, 0),
    ],
)
def test_the_amount_of_a_container(requests: dict[str, str], amount: int) -> None:
    container = msgspec.convert(
        {"name": "c", "resources": {"requests": requests}}, observed_pods.Container
    )
    assert RESOURCE.amount(container) == amount


def _claim(name: str, owner: str, annotations: dict[str, Any]) -> observed_claims.Claim:
    meta: dict[str, Any] = {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"}
    if owner:
        meta["ownerReferences"] = [{"kind": "Pod", "uid": owner, "controller": True}]
    return msgspec.convert(
        {"metadata": {**meta, "annotations": annotations}}, observed_claims.Claim
    )


def test_the_claims_that_the_scheduler_made_are_known_by_their_pods() -> None:
    claims = [_claim("a", "p", MARK), _claim("b", "q", {}), _claim("c", "", MARK)]
    assert extended_resources.claims_by_pod(claims) == {"p": claims[0]}


def test_classes_of_files_have_the_names_that_a_shared_cluster_gives_them() -> None:
    files = {"imported": {"classes": {"gpu": "vendor.com/gpu", "nic": ""}}}
    alone = extended_resources.ExtendedResource({"pools": files})
    shared = extended_resources.ExtendedResource({"pools": {**files, "owner": "ab12"}})
    assert alone.names >= {"vendor.com/gpu", "deviceclass.resource.kubernetes.io/nic"}
    assert shared.names >= {"ab12.vendor.com/gpu", "deviceclass.resource.kubernetes.io/nic-ab12"}
    assert not shared.names & {"vendor.com/gpu", "ab12."}
