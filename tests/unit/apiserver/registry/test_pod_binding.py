"""A pod is bound once, as the pod that was meant."""

from typing import Any

import pytest

from harness.apiserver.scheme import resources

R = resources


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers} | spec}


def binding(node: str = "node", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **meta}, "target": {"kind": "Node", "name": node}}


def test_a_condition_that_holds_already_keeps_its_time(store: Any) -> None:
    store.create(R.PODS, "default", pod())
    since = "2020-01-01T00:00:00Z"
    known = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
    store.patch(
        R.PODS,
        "default",
        "p",
        lambda d: d | {"status": {"phase": "Pending", "conditions": [known]}},
        subresource="status",
    )
    store.bind("default", "p", binding())
    (found,) = store.get(R.PODS, "default", "p").document()["status"]["conditions"]
    assert found["lastTransitionTime"] == since


def test_pods_that_cannot_be_bound(store: Any, refuses: Any) -> None:
    with refuses(404, "NotFound"):
        store.bind("default", "p", binding())
    gated = pod(schedulingGates=[{"name": "wait"}])
    gated["metadata"]["finalizers"] = ["x/1"]
    store.create(R.PODS, "default", gated)
    with refuses(409, "Conflict", "schedulingGates"):
        store.bind("default", "p", binding())
    store.delete(R.PODS, "default", "p")
    with refuses(409, "Conflict", "is being deleted"):
        store.bind("default", "p", binding())


def test_a_binding_names_a_node(store: Any, refuses: Any) -> None:
    store.create(R.PODS, "default", pod())
    with refuses(500, None, "target.name: Required value"):
        store.bind("default", "p", {"metadata": {"name": "p"}, "target": {}})


def test_a_binding_names_its_pod_and_binds_it_to_nothing_but_a_node(
    store: Any, refuses: Any
) -> None:
    store.create(R.PODS, "default", pod())
    with refuses(400, "BadRequest", "name in URL does not match name in Binding object"):
        store.bind("default", "p", {"target": {"name": "node"}})
    why = 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'
    with refuses(500, None, why):
        target = {"kind": "Pod", "name": "node"}
        store.bind("default", "p", {"metadata": {"name": "p"}, "target": target})


PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize("part", ["binding", "eviction"])
@pytest.mark.parametrize(
    "body",
    [
        [],
        {"kind": "Pod", "apiVersion": "v1"},
        {"metadata": "p"},
        {"target": "node", "deleteOptions": "now"},
        {"target": {"name": 1}, "deleteOptions": {"gracePeriodSeconds": "soon"}},
    ],
)
def test_what_is_no_binding_and_no_eviction(live: Any, part: str, body: Any) -> None:
    live.call("POST", PODS, pod())
    status, refused = live.call("POST", f"{PODS}/p/{part}", body)
    assert (status, refused["reason"]) == (400, "BadRequest")
    assert live.call("GET", f"{PODS}/p")[0] == 200
