"""The fields that each endpoint may write."""

import copy
from typing import Any

import pytest

from harness.apiserver.scheme import resources

POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
NODE = {"metadata": {"name": "a"}}
REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}
CLAIM = {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [REQUEST]}}}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}


@pytest.mark.parametrize(
    ("resource", "document", "meta", "kept"),
    [
        (resources.PODS, POD, {"labels": {"a": "b"}}, True),
        (resources.PODS, POD, {"ownerReferences": [OWNER]}, False),
        (resources.NODES, NODE, {"annotations": {"a": "b"}}, True),
        (resources.CLAIMS, CLAIM, {"labels": {"a": "b"}}, False),
        (resources.CLAIMS, CLAIM, {"annotations": {"a": "b"}}, False),
        (resources.CLAIMS, CLAIM, {"ownerReferences": [OWNER]}, False),
        (resources.CLAIMS, CLAIM, {"finalizers": ["example.com/f"]}, False),
    ],
)
def test_metadata_of_a_write_of_the_status(
    store: Any, resource: Any, document: Any, meta: Any, kept: bool
) -> None:
    namespace = "default" if resource.namespaced else ""
    made = store.create(resource, namespace, copy.deepcopy(document)).document()
    made["metadata"] |= meta
    stored = store.update(resource, namespace, "a", made, subresource="status")
    assert (stored.document()["metadata"].items() >= meta.items()) == kept


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
    pods = "/api/v1/namespaces/default/pods"
    live.call("POST", pods, POD)
    status, refused = live.call("POST", f"{pods}/a/{part}", body)
    assert (status, refused["reason"]) == (400, "BadRequest")
    assert live.call("GET", f"{pods}/a")[0] == 200
