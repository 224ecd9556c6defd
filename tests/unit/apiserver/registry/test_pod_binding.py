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
