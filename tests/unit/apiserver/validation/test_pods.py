"""Pods and their containers."""

import copy
from typing import Any

import pytest

from harness.apiserver.validation import pods
from tests.support import cases

Document = dict[str, Any]


def pod(**spec: Any) -> Document:
    base = {
        "containers": [{"name": "c", "image": "i"}],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
    }
    return {"spec": base | spec}


def container(**fields: Any) -> Document:
    return {"name": "c", "image": "i", **fields}


GATE = {"name": "example.com/g"}


def test_new_pods(fields: Any) -> None:
    for spec, wrong in cases.read(__file__, "new_pods"):
        assert fields(pods.pod(pod(**spec))) == list(map(tuple, wrong)), spec


TOLERATION = {"key": "a", "effect": "NoExecute"}
OLD = pod(tolerations=[TOLERATION], schedulingGates=[GATE], nodeSelector={"a": "b"}, priority=0)


def test_changed_pods(fields: Any) -> None:
    for change, wrong in cases.read(__file__, "changes"):
        new = copy.deepcopy(OLD)
        new["spec"].update(change)
        assert fields(pods.pod_change(new, OLD)) == list(map(tuple, wrong)), change


def test_node_selectors_are_fixed_once_the_gates_are_gone(fields: Any) -> None:
    old, new = pod(nodeSelector={"a": "b"}), pod(nodeSelector={"a": "c"})
    assert fields(pods.pod_change(new, old)) == [("spec", "Forbidden")]


PARTS = [
    (pod(ephemeralContainers=[container(name="e")]), [("spec.ephemeralContainers", "Forbidden")]),
    (pod(hostname="a.b"), [("spec.hostname", "Invalid")]),
    (pod(priorityClassName="A"), [("spec.priorityClassName", "Invalid")]),
    (pod(preemptionPolicy="x"), [("spec.preemptionPolicy", "NotSupported")]),
    (
        pod(containers=[container(imagePullPolicy="x")]),
        [("spec.containers[0].imagePullPolicy", "NotSupported")],
    ),
    (pod(volumes=[{"name": "v"}], hostUsers=False, hostPID=True), []),
    (pod(containers=[container(securityContext={"runAsUser": -1})]), []),
]


def test_parts_of_new_pods(fields: Any) -> None:
    for document, wrong in PARTS:
        assert fields(pods.pod(document)) == wrong, document


def with_status(status: Document, **spec: Any) -> Document:
    return {"metadata": {"name": "p"}, "spec": spec, "status": status}


def test_conditions_and_claims(fields: Any) -> None:
    status = {
        "conditions": [{"type": "Ready"}, {"type": "not one"}],
        "resourceClaimStatuses": [
            {"name": "a", "resourceClaimName": "x"},
            {"name": "b", "resourceClaimName": "Y_"},
        ],
    }
    document = with_status(status, resourceClaims=[{"name": "a", "resourceClaimName": "x"}])
    assert fields(pods.pod_status_change(document, {})) == [
        ("status.conditions[1].Type", "Invalid"),
        ("status.resourceClaimStatuses[1].name", "Invalid"),
        ("status.resourceClaimStatuses[1].resourceClaimName", "Invalid"),
    ]


def test_nominated_nodes_have_names_of_nodes(fields: Any) -> None:
    wrong = with_status({"nominatedNodeName": "Not a node"})
    assert fields(pods.pod_status_change(wrong, with_status({}))) == [
        ("status.nominatedNodeName", "Invalid")
    ]
    assert not list(pods.pod_status_change(wrong, wrong))
    assert not list(
        pods.pod_status_change(with_status({"nominatedNodeName": "worker-1"}), with_status({}))
    )


def test_the_class_of_a_pod_stays(fields: Any) -> None:
    old, new = with_status({"qosClass": "Burstable"}), with_status({"qosClass": "Guaranteed"})
    assert fields(pods.pod_status_change(new, old)) == [("status.qosClass", "Invalid")]


MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}


@pytest.mark.parametrize("key", ["containers", "initContainers"])
def test_the_claim_of_extended_resources(fields: Any, key: str) -> None:
    """Requests of init containers and containers alike can be mapped to requests of the claim."""
    container = {"name": "c", "resources": {"requests": {"example.com/gpu": "2"}}}
    at = "extendedResourceClaimStatus"
    for name, mappings, wrong in cases.read(__file__, "mappings"):
        changed = [MAPPING | change for change in mappings]
        status = {at: {"resourceClaimName": name, "requestMappings": changed}}
        found = fields(pods.pod_status_change(with_status(status, **{key: [container]}), {}))
        assert found == [(f"status.{at}.{field}", reason) for field, reason in wrong], mappings
