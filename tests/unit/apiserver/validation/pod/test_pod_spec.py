"""Pods and their containers."""

import copy
from typing import Any

import pytest

from harness.apiserver.validation.pod import pod_spec
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


@pytest.mark.parametrize(("spec", "wrong"), cases.read(__file__, "new_pods"))
def test_new_pods(lines: Any, spec: Document, wrong: list[str]) -> None:
    assert lines(pod_spec.pod(pod(**spec))) == wrong


TOLERATION = {"key": "a", "effect": "NoExecute"}
OLD = pod(tolerations=[TOLERATION], schedulingGates=[GATE], nodeSelector={"a": "b"}, priority=0)


@pytest.mark.parametrize(("change", "wrong"), cases.read(__file__, "changes"))
def test_changed_pods(fields: Any, change: Document, wrong: list[Any]) -> None:
    new = copy.deepcopy(OLD)
    new["spec"].update(change)
    assert fields(pod_spec.pod_change(new, OLD)) == list(map(tuple, wrong))


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
