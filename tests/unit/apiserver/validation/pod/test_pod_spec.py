"""Pods and their containers."""

import copy
from typing import Any

import pytest

from harness.apiserver.validation.pod import pod_spec

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
CLAIM = {"name": "a", "resourceClaimName": "x"}
SPECS = [
    (pod(), []),
    (
        pod(resourceClaims=[CLAIM], containers=[container(resources={"claims": [{"name": "a"}]})]),
        [],
    ),
    (pod(schedulingGates=[GATE]), []),
    (pod(containers=None), ["spec.containers: Required value"]),
    (pod(initContainers=[container()]), ['spec.initContainers[0].name: Duplicate value: "c"']),
    (
        pod(containers=[container(resources={"requests": {"cpu": "1.5"}, "limits": {"cpu": "1"}})]),
        [
            (
                'spec.containers[0].resources.requests: Invalid value: "1500m": must be less than or equal '
                "to cpu limit of 1"
            )
        ],
    ),
    (
        pod(containers=[container(resources={"limits": {"cpu": "-1"}})]),
        [
            (
                'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or '
                "equal to 0"
            )
        ],
    ),
    (
        pod(resourceClaims=[CLAIM], containers=[container(resources={"claims": [{"name": "b"}]})]),
        [
            (
                'spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in '
                'pod.spec.resourceClaims: "a"'
            )
        ],
    ),
    (
        pod(containers=[container(resources={"claims": [{"name": "b"}]})]),
        [
            (
                'spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in '
                "pod.spec.resourceClaims which is empty"
            )
        ],
    ),
    (pod(restartPolicy=""), ["spec.restartPolicy: Required value"]),
    (
        pod(dnsPolicy="Y"),
        [
            (
                'spec.dnsPolicy: Unsupported value: "Y": supported values: "ClusterFirstWithHostNet", '
                '"ClusterFirst", "Default", "None"'
            )
        ],
    ),
    (
        pod(nodeName="n", schedulingGates=[GATE]),
        ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    (
        pod(schedulingGates=[GATE, GATE]),
        ['spec.schedulingGates[1]: Duplicate value: "example.com/g"'],
    ),
    (
        pod(
            resourceClaims=[
                {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}
            ]
        ),
        [
            (
                'spec.resourceClaims[0]: Invalid value: {"name":"a","resourceClaimName":"x",'
                '"resourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or '
                "`resourceClaimTemplateName` may be specified"
            )
        ],
    ),
]


@pytest.mark.parametrize(("document", "wrong"), SPECS)
def test_new_pods(lines: Any, document: Document, wrong: list[str]) -> None:
    assert lines(pod_spec.pod(document)) == wrong


TOLERATION = {"key": "a", "effect": "NoExecute"}
OLD = pod(tolerations=[TOLERATION], schedulingGates=[GATE], nodeSelector={"a": "b"}, priority=0)
CHANGES = [
    ({"containers": [{"name": "c", "image": "other"}]}, []),
    ({"activeDeadlineSeconds": 5}, []),
    (
        {"tolerations": [TOLERATION, {"key": "-"}]},
        [("spec.tolerations[1].key", "Invalid")] * 2,
    ),
    ({"tolerations": [TOLERATION | {"tolerationSeconds": 5}]}, []),
    ({"nodeSelector": {"a": "c"}}, [("spec.nodeSelector", "Invalid")]),
    ({"terminationGracePeriodSeconds": 5}, [("spec", "Forbidden")]),
    ({"tolerations": [TOLERATION, {"key": "b"}]}, []),
    ({"schedulingGates": None}, []),
    ({"nodeSelector": {"a": "b", "c": "d"}}, []),
    ({"containers": [container(), container(name="d")]}, [("spec.containers", "Forbidden")]),
    ({"tolerations": [{"key": "b"}]}, [("spec.tolerations", "Forbidden")]),
    ({"schedulingGates": [GATE, {"name": "h"}]}, [("spec.schedulingGates[1].name", "Forbidden")]),
    ({"nodeName": "n"}, [("spec", "Forbidden")]),
    ({"restartPolicy": "Never"}, [("spec", "Forbidden")]),
    ({"priority": 1}, [("spec", "Forbidden")]),
]


@pytest.mark.parametrize(("change", "wrong"), CHANGES)
def test_changed_pods(fields: Any, change: Document, wrong: list[Any]) -> None:
    new = copy.deepcopy(OLD)
    new["spec"].update(change)
    assert fields(pod_spec.pod_change(new, OLD)) == wrong


def test_node_selectors_are_fixed_once_the_gates_are_gone(fields: Any) -> None:
    old, new = pod(nodeSelector={"a": "b"}), pod(nodeSelector={"a": "c"})
    assert fields(pod_spec.pod_change(new, old)) == [("spec", "Forbidden")]


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


@pytest.mark.parametrize(("document", "wrong"), PARTS)
def test_parts_of_new_pods(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(pod_spec.pod(document)) == wrong
