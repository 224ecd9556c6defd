"""Valid and invalid statuses of pods."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import pod_status
from tests.support import cases

Document = dict[str, Any]
ENDED = {"name": "c", "state": {"terminated": {"exitCode": 1}}}
RUNNING = {"name": "c", "state": {"running": {}}}


def pod(status: Document, **spec: Any) -> Document:
    return {"metadata": {"name": "p"}, "spec": spec, "status": status}


def test_conditions_and_claims(fields: Any) -> None:
    status = {
        "conditions": [{"type": "Ready"}, {"type": "not one"}],
        "resourceClaimStatuses": [
            {"name": "a", "resourceClaimName": "x"},
            {"name": "b", "resourceClaimName": "Y_"},
        ],
    }
    document = pod(status, resourceClaims=[{"name": "a", "resourceClaimName": "x"}])
    assert fields(pod_status.pod_status_change(document, {})) == [
        ("status.conditions[1].Type", "Invalid"),
        ("status.resourceClaimStatuses[1].name", "Invalid"),
        ("status.resourceClaimStatuses[1].resourceClaimName", "Invalid"),
    ]


def test_nominated_nodes_have_names_of_nodes(fields: Any) -> None:
    wrong = pod({"nominatedNodeName": "Not a node"})
    assert fields(pod_status.pod_status_change(wrong, pod({}))) == [
        ("status.nominatedNodeName", "Invalid")
    ]
    assert not list(pod_status.pod_status_change(wrong, wrong))
    assert not list(pod_status.pod_status_change(pod({"nominatedNodeName": "worker-1"}), pod({})))


def test_the_class_of_a_pod_stays(fields: Any) -> None:
    old, new = pod({"qosClass": "Burstable"}), pod({"qosClass": "Guaranteed"})
    assert fields(pod_status.pod_status_change(new, old)) == [("status.qosClass", "Invalid")]


@pytest.mark.parametrize(
    ("key", "parts", "policy", "own", "allowed"),
    [
        ("containerStatuses", "containers", "Always", None, True),
        ("containerStatuses", "containers", "OnFailure", None, True),
        ("containerStatuses", "containers", "Never", None, False),
        ("containerStatuses", "containers", "Never", "Always", True),
        ("initContainerStatuses", "initContainers", "Never", None, False),
        ("initContainerStatuses", "initContainers", "Never", "Always", True),
        ("ephemeralContainerStatuses", "ephemeralContainers", "Always", None, False),
    ],
)
def test_containers_that_have_ended(
    fields: Any, key: str, parts: str, policy: str, own: str | None, allowed: bool
) -> None:
    container = {"name": "c"} | ({"restartPolicy": own} if own else {})
    spec = {"restartPolicy": policy, parts: [container]}
    found = fields(
        pod_status.pod_status_change(pod({key: [RUNNING]}, **spec), pod({key: [ENDED]}, **spec))
    )
    assert found == ([] if allowed else [(f"status.{key}[0].state", "Forbidden")])


def test_success_is_not_tried_again(fields: Any) -> None:
    spec = {"restartPolicy": "OnFailure", "containers": [{"name": "c"}]}
    old = pod({"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 0}}}]})
    new = pod({"containerStatuses": [RUNNING]}, **spec)
    assert fields(pod_status.pod_status_change(new, old)) == [
        ("status.containerStatuses[0].state", "Forbidden")
    ]


MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}


@pytest.mark.parametrize(("name", "mappings", "wrong"), cases.read(__file__, "mappings"))
def test_the_claim_of_extended_resources(
    name: str, mappings: list[Any], wrong: list[list[str]], fields: Any
) -> None:
    """Requests of init containers and containers alike can be mapped to requests of the claim."""
    container = {"name": "c", "resources": {"requests": {"example.com/gpu": "2"}}}
    changed = [MAPPING | change for change in mappings]
    status = {
        "extendedResourceClaimStatus": {"resourceClaimName": name, "requestMappings": changed}
    }
    for key in ("containers", "initContainers"):
        document = pod(status, **{key: [container]})
        assert fields(pod_status.pod_status_change(document, {})) == [
            (f"status.extendedResourceClaimStatus.{field}", reason) for field, reason in wrong
        ]
