"""Claims: which endpoint writes what."""

import copy
from typing import Any

import pytest

from harness.apiserver.scheme import resources

R = resources
Document = dict[str, Any]


def spec(**exactly: Any) -> Document:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example", **exactly}}
    return {"devices": {"requests": [request]}}


def claim(name: str = "c", **meta: Any) -> Document:
    return {"metadata": {"name": name, **meta}, "spec": spec()}


def allocation(device: str = "d0", **result: Any) -> Document:
    row = {"request": "gpu", "driver": "gpu.example", "pool": "node-0", "device": device, **result}
    return {"devices": {"results": [row]}}


@pytest.fixture
def stored_claim(store: Any) -> Any:
    return store.create(R.CLAIMS, "default", claim())


def status_of(store: Any) -> Document:
    found: Document = store.get(R.CLAIMS, "default", "c").document()["status"]
    return found


# ---------------------------------------------------------------- endpoints


def test_the_status_endpoint_ignores_spec_and_most_metadata(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    document["metadata"] |= {
        "labels": {"a": "b"},
        "annotations": {"a": "b"},
        "finalizers": ["resource.kubernetes.io/delete-protection"],
        "ownerReferences": [owner],
    }
    document["spec"] = spec(deviceClassName="another.example")
    document["status"] = {"allocation": allocation()}
    updated = store.update(R.CLAIMS, "default", "c", document, subresource="status").document()
    assert updated["status"] == {"allocation": allocation()}
    assert updated["spec"] == stored_claim.document()["spec"]
    assert (
        not {"labels", "annotations", "finalizers", "ownerReferences"} & updated["metadata"].keys()
    )


def test_a_finalizer_and_an_allocation_take_two_writes(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document()
    document["metadata"]["finalizers"] = ["x/y"]
    document["status"] = {"allocation": allocation()}
    store.update(R.CLAIMS, "default", "c", copy.deepcopy(document))
    assert status_of(store) == {}
    del document["metadata"]["resourceVersion"]
    both = store.update(R.CLAIMS, "default", "c", document, subresource="status").document()
    assert both["metadata"]["finalizers"] == ["x/y"]
    assert both["status"]["allocation"] == allocation()
