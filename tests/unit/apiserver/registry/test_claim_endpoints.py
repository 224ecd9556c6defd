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


def test_status_is_cleared_on_creation(store: Any) -> None:
    stored = store.create(R.CLAIMS, "default", claim() | {"status": {"allocation": allocation()}})
    assert stored.document()["status"] == {}


def test_the_main_endpoint_ignores_the_status(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document() | {"status": {"allocation": allocation()}}
    document["metadata"]["labels"] = {"a": "b"}
    updated = store.update(R.CLAIMS, "default", "c", document).document()
    assert updated["status"] == {}
    assert updated["metadata"]["labels"] == {"a": "b"}


def test_a_main_write_of_nothing_but_status_is_no_commit(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document() | {"status": {"allocation": allocation()}}
    assert store.update(R.CLAIMS, "default", "c", document) == stored_claim


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


@pytest.mark.parametrize("resource", [R.CLAIMS, R.CLAIM_TEMPLATES])
def test_specs_are_immutable(store: Any, refuses: Any, resource: Any) -> None:
    def wrapped(inner: Document) -> Document:
        return inner if resource is R.CLAIMS else {"spec": inner}

    store.create(resource, "default", {"metadata": {"name": "c"}, "spec": wrapped(spec())})
    changed = {"metadata": {"name": "c"}, "spec": wrapped(spec(count=2))}
    with refuses(422, "Invalid", "field is immutable"):
        store.update(resource, "default", "c", changed)
    with refuses(422, "Invalid", "field is immutable"):
        store.patch(resource, "default", "c", lambda old: old | {"spec": wrapped(spec(count=2))})
    same = {"metadata": {"name": "c", "labels": {"a": "b"}}, "spec": wrapped(spec())}
    store.update(resource, "default", "c", same)
